/**
 * Elements made from values. A string only ever becomes a text node, never markup, and a link only
 * leads to a place of this page: so a document, a name or a model's answer can do nothing here.
 */

const OWN = /^(#|\/v1\/graph\/page(\?|$))/;
const FORBIDDEN = /^(on.+|style|src|srcdoc|formaction|action|xlink:href)$/i;

/** An HTML element; `attributes.on` are listeners, `data` its dataset, `share` a length from 0 to 1. */
export function el(name, attributes, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function filled(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    set(node, key, value);
  }
  node.append(...children.flat(Infinity).filter(isSomething).map(asNode));
  return node;
}

function set(node, key, value) {
  if (key === "on") {
    for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
  } else if (key === "data") {
    Object.assign(node.dataset, value);
  } else if (key === "share") {
    node.style.setProperty("--share", String(Math.min(1, Math.max(0, value || 0))));
  } else if (key === "value") {
    node.value = value;
  } else if (FORBIDDEN.test(key)) {
    throw new TypeError(`the attribute ${key} is never set here`);
  } else if (key === "href" && !OWN.test(String(value))) {
    throw new TypeError("a link leads to a place of this page");
  } else {
    node.setAttribute(key, value === true ? "" : String(value));
  }
}

const isSomething = (child) => child !== null && child !== undefined && child !== false;
const asNode = (child) => (child instanceof Node ? child : document.createTextNode(String(child)));

/** Put these in the place of all that a node holds. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter(isSomething).map(asNode));
  return node;
}

/** A button that does something; `attributes` as for `el`. */
export function button(label, attributes, onClick) {
  return el("button", { type: "button", on: { click: onClick }, ...attributes }, label);
}

let last = 0;

/** An id for a label or a description, unique on this page. */
export function freshId(prefix = "id") {
  last += 1;
  return `${prefix}-${last}`;
}

/** Say something to who listens to the page; what follows at once replaces it. */
export function say(text) {
  const place = document.getElementById("said");
  place.textContent = "";
  window.setTimeout(() => {
    place.textContent = text;
  }, 60);
}

/** Text that somebody else wrote: its direction is its own. */
export function quoted(text, name = "span", attributes = {}) {
  return el(name, { dir: "auto", ...attributes }, text);
}
