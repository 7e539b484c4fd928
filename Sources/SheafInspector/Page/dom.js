// Builders for nodes. All texts become text nodes, so that no value is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** Creates an element: `h("button.quiet", { onclick }, "Text")`. */
export function h(name, attributes, ...children) {
  return build((tag) => document.createElement(tag), name, attributes, children);
}

/** Creates an SVG element. */
export function s(name, attributes, ...children) {
  return build((tag) => document.createElementNS(SVG, tag), name, attributes, children);
}

function build(create, name, attributes, children) {
  const [tag, ...classes] = name.split(".");
  const node = create(tag);
  if (classes.length > 0) node.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(attributes ?? {})) setAttribute(node, key, value);
  node.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return node;
}

function setAttribute(node, key, value) {
  if (value == null || value === false) return;
  if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
  else if (key === "class") node.classList.add(...value.split(" ").filter(Boolean));
  else if (key === "value") node.value = value;
  // The content security policy forbids style attributes, but not properties set from script.
  else if (key === "style") for (const [name, text] of Object.entries(value)) node.style.setProperty(name, text);
  else node.setAttribute(key, value === true ? "" : String(value));
}

/** Replaces the children of a node. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return node;
}

/** Calls a function immediately, and then at most every `milliseconds`, the last call included. */
export function throttle(milliseconds, call) {
  let timer = null;
  let again = false;
  const run = () => {
    again = false;
    call();
    timer = setTimeout(() => {
      timer = null;
      if (again) run();
    }, milliseconds);
  };
  return () => (timer === null ? run() : (again = true));
}

/** Calls a function after `milliseconds` without another call. */
export function debounce(milliseconds, call) {
  let timer = null;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), milliseconds);
  };
}

let nextID = 0;

/** Returns an id that no other element has. */
export function freshID(prefix) {
  nextID += 1;
  return `${prefix}-${nextID}`;
}

/** Shows a short message, which assistive technology reads. */
export function toast(text, kind = "") {
  const node = h("p.toast", { class: kind }, text);
  document.getElementById("toasts").append(node);
  setTimeout(() => node.remove(), 6000);
}
