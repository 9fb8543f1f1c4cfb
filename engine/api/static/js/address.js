/**
 * Where the page is, as its address has it: `#/documents?query=tide&doc=notes.md`. Everything that
 * can be come back to stands there; a token never does.
 */

export const VIEWS = [
  "ask",
  "conversations",
  "documents",
  "graph",
  "communities",
  "usage",
  "settings",
];

/** `{view, parameters}` of a hash; what is no view is the first one. */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const view = VIEWS.includes(path) ? path : VIEWS[0];
  return { view, parameters: Object.fromEntries(new URLSearchParams(query)) };
}

/** The hash of a view with parameters; empty ones are left out. */
export function address(view, parameters = {}) {
  const kept = Object.entries(parameters).filter(([, value]) => !isNothing(value));
  const query = new URLSearchParams(kept.map(([key, value]) => [key, String(value)])).toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

const isNothing = (value) => value === "" || value === null || value === undefined;

/** Where the page is now. */
export const here = () => parse(window.location.hash);

/** Go on to a view; the way back is kept. */
export function go(view, parameters) {
  window.location.hash = address(view, parameters);
}

/** The address of this view with some parameters changed. */
export function changed(parameters) {
  const now = here();
  return address(now.view, { ...now.parameters, ...parameters });
}

/** Change parameters of this view; with `replace` the way back does not stop here. */
export function change(parameters, { replace = false } = {}) {
  const target = changed(parameters);
  if (target === window.location.hash) return;
  if (replace) {
    window.history.replaceState(null, "", target);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    window.location.hash = target;
  }
}
