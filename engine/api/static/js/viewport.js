/** The part of a drawing that is seen: fitted to its shape, moved by dragging, zoomed by the wheel. */

import { button, el } from "./dom.js";
import { t } from "./i18n.js";

const MARGIN = 62;
const SMALLEST_UNIT = 0.55;

/** The part of the plane that is seen; `onScale(unit, box)` is told the length of a pixel. */
export function viewOf(picture, at, onScale) {
  let whole = null;
  let box = null;
  const pixels = () => ({ width: picture.clientWidth || 1, height: picture.clientHeight || 1 });
  const unit = () => Math.max(box.width / pixels().width, box.height / pixels().height);
  const apply = () => {
    picture.setAttribute(
      "viewBox",
      [box.x, box.y, box.width, box.height].map((value) => value.toFixed(1)).join(" "),
    );
    onScale(unit(), box);
  };
  const zoom = (factor, centre = { x: box.x + box.width / 2, y: box.y + box.height / 2 }) => {
    const by = Math.min(
      Math.max(factor, whole.width / 12 / box.width),
      (whole.width * 2) / box.width,
    );
    box = {
      x: centre.x - (centre.x - box.x) * by,
      y: centre.y - (centre.y - box.y) * by,
      width: box.width * by,
      height: box.height * by,
    };
    apply();
  };
  const reset = () => {
    whole = fitted(at, pixels());
    box = { ...whole };
    apply();
  };
  new ResizeObserver(reset).observe(picture);
  picture.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const bounds = picture.getBoundingClientRect();
      const centre = {
        x: box.x + box.width / 2 + (event.clientX - bounds.x - bounds.width / 2) * unit(),
        y: box.y + box.height / 2 + (event.clientY - bounds.y - bounds.height / 2) * unit(),
      };
      zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, centre);
    },
    { passive: false },
  );
  drag(picture, (x, y) => {
    box = { ...box, x: box.x - x * unit(), y: box.y - y * unit() };
    apply();
  });
  return { zoom, reset };
}

/** Stretch the places to the shape of the picture, within reason, and give the box they fill. */
function fitted(at, { width, height }) {
  const margin = Math.min(MARGIN, width / 8);
  const inner = {
    width: Math.max(40, width - 2 * margin),
    height: Math.max(40, height - 1.2 * margin),
  };
  const span = (name) => {
    const values = [...at.values()].map((point) => point[name]);
    return {
      low: Math.min(...values),
      high: Math.max(...values),
      size: Math.max(Math.max(...values) - Math.min(...values), 1),
    };
  };
  const stretch = Math.min(
    2.2,
    Math.max(0.45, inner.width / inner.height / (span("x").size / span("y").size)),
  );
  for (const point of at.values()) {
    point.x *= Math.sqrt(stretch);
    point.y /= Math.sqrt(stretch);
  }
  const [x, y] = [span("x"), span("y")];
  const unit = Math.max(x.size / inner.width, y.size / inner.height, SMALLEST_UNIT);
  const box = { width: width * unit, height: height * unit };
  return { ...box, x: (x.low + x.high - box.width) / 2, y: (y.low + y.high - box.height) / 2 };
}

function drag(picture, by) {
  let last = null;
  picture.addEventListener("pointerdown", (event) => {
    last = { x: event.clientX, y: event.clientY, id: event.pointerId };
    picture.classList.remove("moved");
  });
  picture.addEventListener("pointermove", (event) => {
    if (!last || !event.buttons) return;
    const [x, y] = [event.clientX - last.x, event.clientY - last.y];
    if (!picture.classList.contains("moved") && Math.hypot(x, y) < 4) return;
    if (!picture.classList.contains("moved")) picture.setPointerCapture(last.id);
    picture.classList.add("moved");
    last = { ...last, x: event.clientX, y: event.clientY };
    by(x, y);
  });
  picture.addEventListener("pointerup", () => {
    last = null;
  });
}

/** Buttons that do what the wheel does. */
export function zoomButtons(view) {
  const one = (sign, label, act) =>
    button(sign, { class: "icon text", "aria-label": label, title: label }, act);
  return el(
    "div",
    { class: "zoom", role: "group", "aria-label": t("graph.zoom") },
    one("+", t("graph.zoomIn"), () => view.zoom(1 / 1.3)),
    one("−", t("graph.zoomOut"), () => view.zoom(1.3)),
    one("⤢", t("graph.zoomAll"), () => view.reset()),
  );
}
