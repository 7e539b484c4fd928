// The editor of statements: a text area with a list of completions.

import { complete } from "./api.js";
import { debounce, fill, freshID, h } from "./dom.js";

const COMPLETE_AFTER_MILLISECONDS = 60;

/** Creates an editor; `run` is called by Ctrl+Enter. The node has `text` and `setText`. */
export function statementEditor({ run, changed, signal }) {
  const id = freshID("words");
  const area = h("textarea", {
    rows: "5", spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off",
    "aria-label": "Statement", role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": id,
    placeholder: "SELECT * FROM …   Ctrl+Enter runs, Ctrl+Space completes",
  });
  const list = h("ul.words", { role: "listbox", id, hidden: true, "aria-label": "Completions" });
  const node = h("div.editor", {}, area, list);
  const words = new Completion(area, list, signal);
  const ask = debounce(COMPLETE_AFTER_MILLISECONDS, () => words.ask(false));
  area.addEventListener("input", () => { changed?.(area.value); ask(); });
  area.addEventListener("accepted", () => changed?.(area.value));
  area.addEventListener("blur", () => words.hide());
  area.addEventListener("click", () => words.hide());
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      words.hide();
      run();
    } else words.key(event);
  });
  node.area = area;
  node.setText = (text) => { area.value = text; changed?.(text); };
  return node;
}

class Completion {
  words = [];
  prefix = "";
  chosen = 0;
  request = 0;

  constructor(area, list, signal) {
    Object.assign(this, { area, list, signal });
  }

  get isShown() {
    return !this.list.hidden;
  }

  /** Shows words for the cursor; without `isForced` only within a word. */
  async ask(isForced) {
    const number = (this.request += 1);
    const { selectionStart: at, selectionEnd: end, value } = this.area;
    const before = value.slice(0, at);
    if (at !== end || (!isForced && !/[\p{L}\p{N}_.:`]$/u.test(before))) return this.hide();
    const answer = await complete(before, value.slice(at), this.signal).catch(() => null);
    if (number !== this.request || !answer || document.activeElement !== this.area) return;
    const isDone = answer.words.length === 1 && answer.words[0] === answer.prefix;
    if (answer.words.length === 0 || isDone) return this.hide();
    Object.assign(this, { words: answer.words, prefix: answer.prefix, chosen: 0 });
    this.show();
  }

  show() {
    fill(this.list, this.words.map((word, index) =>
      h("li", { role: "option", id: `${this.list.id}-${index}`, onmousedown: (event) => { event.preventDefault(); this.accept(index); } },
        h("b", {}, word.slice(0, this.matched(word))), word.slice(this.matched(word)))));
    this.list.hidden = false;
    this.area.setAttribute("aria-expanded", "true");
    this.place();
    this.choose(0);
  }

  /** The length of the part of a word that has been typed; the word may add a backtick before it. */
  matched(word) {
    const isQuoted = word.startsWith("`") && !this.prefix.startsWith("`");
    return this.prefix.length + (isQuoted ? 1 : 0);
  }

  /** Puts the list beneath the cursor: the font has one width, and lines do not wrap. */
  place() {
    const style = getComputedStyle(this.area);
    const lines = this.area.value.slice(0, this.area.selectionStart).split("\n");
    const column = lines.at(-1).length - this.prefix.length;
    const x = parseFloat(style.paddingLeft) + column * characterWidth(style) - this.area.scrollLeft;
    const y = parseFloat(style.paddingTop) + lines.length * parseFloat(style.lineHeight) - this.area.scrollTop;
    const widest = this.area.clientWidth - this.list.offsetWidth;
    this.list.style.left = `${Math.max(0, Math.min(x, widest))}px`;
    this.list.style.top = `${Math.min(y, this.area.offsetHeight) + 2}px`;
  }

  choose(index) {
    this.chosen = (index + this.words.length) % this.words.length;
    [...this.list.children].forEach((item, number) => item.setAttribute("aria-selected", number === this.chosen));
    const item = this.list.children[this.chosen];
    this.area.setAttribute("aria-activedescendant", item.id);
    item.scrollIntoView({ block: "nearest" });
  }

  accept(index) {
    const at = this.area.selectionStart;
    this.area.setRangeText(this.words[index], at - this.prefix.length, at, "end");
    this.hide();
    this.area.dispatchEvent(new Event("accepted"));
  }

  hide() {
    this.request += 1;
    this.list.hidden = true;
    this.area.setAttribute("aria-expanded", "false");
    this.area.removeAttribute("aria-activedescendant");
  }

  key(event) {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      return void this.ask(true);
    }
    if (!this.isShown) return;
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) this.choose(this.chosen + steps[event.key]);
    else if (event.key === "Enter" || event.key === "Tab") this.accept(this.chosen);
    else if (event.key === "Escape") this.hide();
    else return;
    event.preventDefault();
  }
}

function characterWidth(style) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `${style.fontSize} ${style.fontFamily}`;
  return context.measureText("0000000000").width / 10;
}
