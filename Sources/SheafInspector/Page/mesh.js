// The page Mesh: the peers and their connections, and the path of a document to a peer.

import { explain, rowsOf } from "./api.js";
import { onCommit } from "./changes.js";
import { fill, h, throttle } from "./dom.js";
import { agoText, empty, errorNote, field, heading, loading, plainTable, sentence } from "./parts.js";
import { bytes, counted, shortKey } from "./format.js";
import { meshPicture } from "./graph.js";
import { parse, parseID, stringify } from "./json.js";
import { pathPicture, stateWords, stepsWithKinds } from "./path.js";
import { peersByKey, readPresence } from "./presence.js";
import { address, go } from "./router.js";

const POLL_MILLISECONDS = 1000;
const MAXIMUM_EXPLAINED = 32;

export function mount(root, context) {
  const page = new MeshPage(root, context);
  return (route) => page.follow(route.values);
}

class MeshPage {
  mesh = { peers: [], connections: [] };
  values = new URLSearchParams();
  /** The steps of the chosen document to the chosen peer. */
  route = [];

  constructor(root, context) {
    this.context = context;
    this.summary = h("span.muted", { role: "status" });
    this.picture = h("div.mesh-picture", {}, loading());
    this.peers = h("div");
    this.answer = h("div.explanation", { "aria-live": "polite" });
    this.form = explainForm((values) => go(["mesh"], values));
    this.columns = h("div.columns.mesh-columns", {},
      h("section.card", {}, h("h2", {}, "Peers"), this.picture, this.peers),
      h("section.card.question", {}, h("h2", {}, "Why is a document not on a peer?"), this.form.node, this.answer));
    fill(root, heading("Mesh", this.summary), this.columns);
    this.poll();
    onCommit(context.signal, throttle(POLL_MILLISECONDS, () => this.explain()));
  }

  async poll() {
    await this.read();
    if (!this.context.signal.aborted) setTimeout(() => this.poll(), POLL_MILLISECONDS);
  }

  async read() {
    if (document.hidden) return;
    const { signal } = this.context;
    try {
      const [presence, sync] = await Promise.all([
        rowsOf("SELECT * FROM system:presence", {}, { signal, limit: 10000 }),
        rowsOf("SELECT * FROM system:data_sync_info", {}, { signal, limit: 10000 })]);
      this.draw(readPresence(presence), sync);
    } catch (error) {
      if (error.name !== "AbortError") fill(this.picture, errorNote(error));
    }
  }

  draw(mesh, sync) {
    this.sync = sync;
    const isFirst = this.mesh.peers.length === 0;
    this.mesh = mesh;
    if (mesh.peers.length === 0) {
      return fill(this.picture, empty("No peer runs on this store", "sheaf peer serve starts one. An inspector in an app shows the peer that the app passes to it."));
    }
    const states = peerStates(mesh, sync);
    this.summary.textContent = `${counted(mesh.peers.length, "peer")}, ${counted(mesh.connections.length, "connection")}`;
    // A picture without changes keeps its nodes, so that a title or the focus does not vanish.
    const text = stringify([this.picture.clientWidth, this.route.map(({ to, kind }) => [to, kind]), mesh.peers.map(({ key, distance }) => [key, distance]), mesh.connections, [...states.values()].map((state) => state.lag)]);
    if (text !== this.drawn) {
      fill(this.picture, meshPicture(mesh, states, this.picture.clientWidth, this.route, (key) => this.choosePeer(key)));
      fill(this.peers, peerTable(mesh, states));
    }
    this.drawn = text;
    this.explainAgain(mesh);
    this.form.setPeers(mesh.peers.filter(({ isKnown }) => isKnown));
    if (isFirst) this.follow(this.values);
  }

  /** Explains again if a peer has come or gone, or has confirmed commits. */
  explainAgain({ peers, connections }) {
    const shape = stringify([peers.map(({ key, distance }) => [key, distance]), connections.map(({ id, lag }) => [id, lag])]);
    const isChanged = this.shape !== undefined && shape !== this.shape;
    this.shape = shape;
    if (isChanged) this.explain();
  }

  choosePeer(key) {
    go(["mesh"], { ...Object.fromEntries(this.values), peer: key });
  }

  follow(values) {
    this.values = values;
    this.columns.classList.toggle("asked", values.has("id"));
    this.form.setValues(values);
    this.explain();
  }

  async explain() {
    const [collection, id, peer] = ["collection", "id", "peer"].map((name) => this.values.get(name));
    if (!collection || id === null || this.mesh.peers.length === 0) {
      this.route = [];
      return fill(this.answer, h("p.muted", {}, "Enter a document. Each step of its path to the peer is shown with its state."));
    }
    const document = parseID(id);
    const asked = this.mesh.peers.filter(({ isKnown }) => isKnown).slice(0, MAXIMUM_EXPLAINED);
    const answers = await Promise.all(asked.map((other) => this.ask(collection, document, other)));
    if (this.context.signal.aborted || this.values.get("id") !== id) return;
    const chosen = answers.find((answer) => answer.peer.key === peer);
    this.route = chosen?.explanation ? stepsWithKinds(chosen.explanation) : [];
    this.draw(this.mesh, this.sync);
    fill(this.answer, peerAnswers(answers, { collection, id, peer }),
      chosen && (chosen.error ? errorNote(chosen.error) : pathPicture(chosen.explanation, peer, peersByKey(this.mesh.peers))));
  }

  async ask(collection, id, peer) {
    try {
      return { peer, explanation: await explain(collection, id, peer.key, this.context.signal) };
    } catch (error) {
      return { peer, error };
    }
  }
}

function explainForm(submit) {
  const collection = h("input", { type: "text", spellcheck: "false", autocapitalize: "off", required: true });
  const id = h("input", { type: "text", spellcheck: "false", autocapitalize: "off", placeholder: "text or JSON", required: true });
  const peer = h("select", {}, h("option", { value: "" }, "all peers"));
  const send = (event) => {
    event.preventDefault();
    submit({ collection: collection.value.trim(), id: stringify(parseID(id.value.trim())), peer: peer.value });
  };
  const node = h("form.bar", { onsubmit: send }, field("collection", collection), field("_id", id), field("peer", peer), h("button.primary", {}, "Explain"));
  return {
    node,
    setPeers(peers) {
      const wanted = ["", ...peers.map(({ key }) => key)].join();
      if ([...peer.options].map((option) => option.value).join() === wanted) return;
      const chosen = peer.value || peer.dataset.wanted || "";
      fill(peer, h("option", { value: "" }, "all peers"), peers.map(({ key, name }) => h("option", { value: key }, name)));
      peer.value = chosen;
    },
    setValues(values) {
      if (values.has("collection")) collection.value = values.get("collection");
      if (values.has("id")) id.value = textOf(values.get("id"));
      peer.dataset.wanted = values.get("peer") ?? "";
      peer.value = peer.dataset.wanted;
    },
  };
}

// A string that is not JSON itself is shown without quotes.
function textOf(json) {
  const value = parseID(json);
  if (typeof value !== "string") return json;
  try {
    parse(value);
    return json;
  } catch {
    return value;
  }
}

/** The state of the document on each peer; each is a link to its path. */
function peerAnswers(answers, { collection, id, peer }) {
  return h("ul.answers", {}, answers.map(({ peer: other, explanation, error }) => {
    const step = explanation && explanation.blocking != null ? explanation.steps[explanation.blocking] : null;
    const state = error ? "unknown" : step ? step.state : "ok";
    return h("li", {}, h("a", { class: `state-${state}`, href: address(["mesh"], { collection, id, peer: other.key }), "aria-current": other.key === peer },
      h("span.strong", {}, other.name), h("span.chip", { class: state === "ok" ? "good" : "bad" }, stateWords(state).title)));
  }));
}

/** The lag of each neighbor, and when it delivered changes, by its key. */
function peerStates(mesh, sync) {
  const received = new Map(sync.map((row) => [String(row._id), row.documents?.last_update_received_time ?? null]));
  return new Map(mesh.peers.map((peer) => {
    const lags = connectionsOf(mesh, peer).map(({ lag }) => lag).filter((lag) => lag !== null);
    return [peer.key, { lag: peer.isLocal || lags.length === 0 ? null : Math.min(...lags), received: received.get(peer.key) ?? null }];
  }));
}

function connectionsOf({ connections }, { key }) {
  return connections.filter(({ peer1, peer2 }) => peer1 === key || peer2 === key);
}

function peerTable(mesh, states) {
  const bytesOf = (peer, name) => {
    const values = connectionsOf(mesh, peer).map((one) => one[name]).filter((value) => value !== null);
    return values.length === 0 ? "–" : bytes(values.reduce((sum, value) => sum + value, 0));
  };
  const kinds = (peer) => [...new Set(connectionsOf(mesh, peer).map(({ kind }) => kind))].join(", ")
    || h("span.muted", {}, "none");
  return plainTable([
    ["peer", (peer) => [
      h("span.nowrap", {}, h("span.strong", {}, peer.name), peer.isLocal && h("span.chip.after", {}, "this peer")),
      peer.reason && h("p.reason", {}, sentence(peer.reason))]],
    ["key", (peer) => h("code", { title: peer.key }, shortKey(peer.key))],
    ["transport", kinds],
    ["sent", (peer) => bytesOf(peer, "sent"), "number"],
    ["received", (peer) => bytesOf(peer, "received"), "number"],
    ["lag", (peer) => lagText(states.get(peer.key).lag), "number"],
    ["last change", (peer) => agoText(states.get(peer.key).received)],
  ], mesh.peers, "Peers");
}

function lagText(lag) {
  if (lag === null) return "–";
  return lag === 0 ? "none" : counted(lag, "commit");
}
