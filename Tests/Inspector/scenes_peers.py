"""Scenes of the pages Conflicts and Mesh."""

MAXIMUM_CLICKS = 3


def scene_conflict(page):
    """the values of a conflict stand side by side, and keeping one ends the conflict"""
    page.visit("conflicts", "#/conflicts")
    page.find("article.conflict", "owners / ann")
    sides = page.all("article.conflict:first-of-type .side-value")
    assert len(sides) == 2 and sum("shown" in side.get_attribute("class").split() for side in sides) == 1
    assert "without seeing the value of the other" in page.text("article.conflict")
    before = len(page.all("article.conflict"))
    commit = newest_commit(page)
    page.click("article.conflict:first-of-type .side-value:not(.shown) button", "Keep")
    page.find(".toast", "kept, commit")
    page.wait(lambda: len(page.all("article.conflict")) == before - 1, "one conflict less")
    assert newest_commit(page) == commit + 1


def newest_commit(page):
    return page.run("return fetch('/about').then((answer) => answer.json()).then(({ commit }) => commit)")


def scene_read_only_conflicts(page):
    """a read-only inspector shows conflicts, and names the option that permits keeping a value"""
    page.visit("mesh", "#/conflicts")
    page.find("article.conflict", "owners / bob")
    assert not page.all("article.conflict button")
    assert "sheaf inspect --write" in page.text(".page-conflicts")


def scene_device_names(page):
    """the history of a document names devices in place of their sites"""
    page.visit("mesh", '#/collections/owners/"ann"')
    page.click(".choices button", "History")
    page.find(".history .site", "hub")
    page.find(".history .site", "laptop")


def scene_blame_of_conflict(page):
    """a field with concurrent values names the commit of the value that is shown"""
    page.visit("mesh", '#/collections/owners/"ann"')
    city = page.find(".tree li", "city")
    page.wait(lambda: "hub" in city.text and "Oslo" in city.text, "the device that wrote the value")


def scene_mesh(page):
    """the mesh is drawn with a node for each peer and a line for each connection"""
    page.visit("mesh", "#/mesh")
    page.wait(lambda: len(page.all(".mesh .peer")) >= 3, "three peers")
    assert len(page.all(".mesh .connection")) >= 2
    assert page.all(".mesh .peer.local")
    page.find(".mesh .connection", "tcp")
    page.wait(lambda: "iB" in page.text(".page-mesh table"), "the bytes of the connections")
    assert "none" in page.find(".page-mesh tr", "tablet").text, "the tablet has all commits"


def scene_missing_document(page):
    """three clicks lead from a collection to the reason why a document is not on a peer"""
    page.visit("mesh", "#/collections/cars")
    clicks = [(".vrow", "car-0000009"), ("a", "On which peers?"), (".answers a", "no subscription")]
    assert len(clicks) <= MAXIMUM_CLICKS
    for selector, text in clicks:
        page.click(selector, text)
    page.find(".path-step.blocking")
    page.wait(lambda: page.all(".mesh .connection.blocking"), "the blocking connection in the picture")
    assert "subscription" in page.text(".blocking-note")


def scene_present_document(page):
    """a document that has arrived has a path without a blocking step"""
    page.visit("mesh", "#/mesh?collection=cars&id=\"car-0000009\"")
    page.click(".answers a", "tablet")
    page.find(".path-peer", "tablet")
    page.find(".path-peer.has")
    assert not page.all(".path-step.blocking")


def scene_explain_form(page):
    """the form explains a document for a chosen peer"""
    page.visit("mesh", "#/mesh")
    page.wait(lambda: len(page.all(".page-mesh select option")) > 1, "the peers")
    page.type(".page-mesh form input", "cars")
    page.type(".page-mesh form label:nth-of-type(2) input", "car-0000009")
    page.click(".page-mesh form button", "Explain")
    page.find(".answers li")


def scene_leaving_peer(page):
    """the mesh shows a peer that leaves and returns, and explains why it lacks a document meanwhile"""
    page.visit("mesh", "#/mesh?collection=owners&id=\"ann\"")
    page.click(".answers a", "counter")
    page.find(".path-part", "The document is on the peer.")
    page.world.end_peer("counter")
    page.find(".mesh .peer.away", "counter")
    page.find(".blocking-note", "Not connected")
    page.world.restart_peer("counter")
    page.find(".mesh .peer.current", "counter")
    page.find(".path-part", "The document is on the peer.")
