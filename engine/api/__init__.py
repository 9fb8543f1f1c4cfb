"""HTTP API under `/v1`, and the web page.

`app` puts it together; a request passes `gate` (who may come in, how much and how fast) before any
route sees it. Slow work runs in bounded `lanes` of threads; what writes runs in `jobs`, one at a
time. Every error is a problem of RFC 9457 (`problems`)."""
