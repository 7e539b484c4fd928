// The page Query: an editor, results in four views, and the history of statements.

import { query } from "./api.js";
import { fill, h } from "./dom.js";
import { count, counted, cut } from "./format.js";
import { statementEditor } from "./editor.js";
import { address, go } from "./router.js";
import { empty, errorNote, heading, loadingAfter } from "./parts.js";
import { planPicture, separatePlan } from "./plan.js";
import { chartView, jsonRows, tableView } from "./results.js";
import { clearHistory, readHistory, remember } from "./statements.js";
import { tabRow } from "./tabs.js";

const VIEWS = ["Table", "JSON", "Chart", "Plan"];
const DRAFT = "sheaf-inspector-draft";

export function mount(root, context) {
  const page = new QueryPage(root, context);
  return (route) => page.follow(route.values);
}

class QueryPage {
  view = "Table";
  answer = null;
  running = null;

  constructor(root, context) {
    this.context = context;
    this.editor = statementEditor({
      run: () => this.run(), signal: context.signal,
      changed: (text) => sessionStorage.setItem(DRAFT, text),
    });
    this.result = h("div.result", {});
    this.facts = h("p.facts", { role: "status" });
    this.tabs = tabRow("Views of the result", VIEWS, this.view, (view) => this.choose(view));
    this.runButton = h("button.primary", { type: "button", onclick: () => this.run(), title: "Ctrl+Enter" }, "Run");
    this.stopButton = h("button", { type: "button", hidden: true, onclick: () => this.running?.abort() }, "Stop");
    this.history = h("details.history-part", { ontoggle: () => this.drawHistory() }, h("summary", {}, "History"), h("div", {}));
    this.layout(root);
    this.editor.setText(sessionStorage.getItem(DRAFT) ?? "");
    this.showStart();
    context.signal.addEventListener("abort", () => this.running?.abort());
  }

  layout(root) {
    const explain = h("button", { type: "button", onclick: () => this.runWith("EXPLAIN"), title: "the plan, without running" }, "Explain");
    const profile = h("button", { type: "button", onclick: () => this.runWith("PROFILE"), title: "the rows and times of each operator" }, "Profile");
    fill(root, heading("Query"), this.editor,
      h("div.bar", {}, this.runButton, this.stopButton, explain, profile, this.facts),
      this.history, this.tabs, this.result);
  }

  /** A statement in the address is filled in, and run if it only reads. */
  follow(values) {
    const statement = values.get("statement");
    if (statement === null) return this.editor.area.focus();
    if (statement === this.lastRun) return;
    this.editor.setText(statement);
    if (/^\s*(select|explain|show|advise(?!\s+and))\b/i.test(statement)) this.run();
  }

  showStart() {
    fill(this.result, empty("No result yet", "Write a statement and press Ctrl+Enter. Completion knows collections, fields and functions."));
  }

  runWith(word) {
    const statement = this.editor.area.value.replace(/^\s*(EXPLAIN|PROFILE)\s+/i, "");
    this.view = "Plan";
    this.tabs.select("Plan");
    this.run(`${word} ${statement}`);
  }

  async run(statement = this.editor.area.value) {
    if (statement.trim() === "") return;
    this.running?.abort();
    const stop = (this.running = new AbortController());
    this.lastRun = statement;
    go(["query"], { statement: this.editor.area.value }, { replace: true });
    this.stopButton.hidden = false;
    this.facts.textContent = "";
    try {
      const answer = await loadingAfter(this.result, "Running", query(statement, {}, { limit: 10000, signal: stop.signal }));
      remember(statement, answer.rows.length);
      this.show(answer);
    } catch (error) {
      // A later statement has stopped this one.
      if (this.running === stop) this.showError(error, statement);
    } finally {
      if (this.running === stop) this.stopButton.hidden = true;
      this.drawHistory();
    }
  }

  show(answer) {
    Object.assign(answer, separatePlan(answer.rows));
    this.answer = answer;
    this.facts.textContent = factsOf(answer);
    if (answer.plan && answer.rows.length === 0) this.view = "Plan";
    else if (!answer.plan && this.view === "Plan") this.view = "Table";
    this.tabs.select(this.view);
    this.draw();
  }

  showError(error, statement) {
    this.facts.textContent = "";
    this.answer = null;
    if (error.name === "AbortError") return fill(this.result, empty("Stopped", "The statement did not finish."));
    const jump = error.line && h("button.quiet", { type: "button", onclick: () => this.select(error) }, "Go to the error");
    fill(this.result, errorNote(error, statement), jump);
  }

  select({ line, column, length }) {
    const { area } = this.editor;
    const start = area.value.split("\n").slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
    area.focus();
    area.setSelectionRange(start, start + (length || 1));
  }

  choose(view) {
    this.view = view;
    if (this.answer) this.draw();
  }

  draw() {
    const { answer, view } = this;
    const notes = (answer.notes ?? []).map((note) => h("p.note", {}, note));
    fill(this.result, notes, this.content(answer, view));
  }

  content(answer, view) {
    if (view === "Plan") return answer.plan ? planPicture(answer.plan, answer.nanoseconds) : this.planOffer();
    if (answer.rows.length === 0) return emptyResult(answer);
    if (view === "JSON") return jsonRows(answer.rows);
    return view === "Chart" ? chartView(answer) : tableView(answer, this.context.signal);
  }

  planOffer() {
    return h("div.empty", {}, h("p.strong", {}, "No plan yet"),
      h("p", {}, "Profile runs the statement and shows the rows and the time of each operator."),
      h("button", { type: "button", onclick: () => this.runWith("PROFILE") }, "Profile"));
  }

  drawHistory() {
    if (!this.history.open) return;
    const rows = readHistory();
    fill(this.history.lastChild, rows.length === 0 ? empty("No statements yet") : [
      h("ul.statements", {}, rows.map(({ statement, rows: size, at }) => h("li", {},
        h("a", { href: address(["query"], { statement }), title: statement }, cut(statement.replaceAll("\n", " "), 160)),
        h("span.muted", { title: new Date(at).toLocaleString("en-GB") }, counted(size, "row"))))),
      h("button.quiet", { type: "button", onclick: () => { clearHistory(); this.drawHistory(); } }, "Clear the history")]);
  }
}

function factsOf(answer) {
  const parts = [answer.plan && answer.rows.length === 0 ? "a plan" : counted(answer.rows.length, "row")];
  if (answer.isTruncated) parts[0] = `the first ${parts[0]}`;
  if (answer.changedIDs?.length > 0) parts.push(`${counted(answer.changedIDs.length, "document")} changed`);
  if (answer.milliseconds != null) parts.push(`${Number(answer.milliseconds).toFixed(1)} ms`);
  if (answer.commit != null) parts.push(`commit ${count(answer.commit)}`);
  return parts.join(" · ");
}

function emptyResult(answer) {
  const changed = answer.changedIDs?.length ?? 0;
  if (changed > 0) return empty(`${counted(changed, "document")} changed`, `by commit ${count(answer.commit)}`);
  return empty("No rows", "The statement ran, and its result is empty.");
}
