"""Scenes of the pages Conflicts and Mesh."""


def scene_conflict(page):
    """the values of a conflict stand side by side, and keeping one ends the conflict"""
    page.visit("conflicts", "#/conflicts")
    page.find("article.conflict", "owners / ann")
    sides = page.all("article.conflict:first-of-type .side-value")
    assert len(sides) == 2 and sum("shown" in side.get_attribute("class").split() for side in sides) == 1
    before = len(page.all("article.conflict"))
    page.click("article.conflict:first-of-type .side-value:not(.shown) button", "Keep")
    page.find(".toast", "kept, commit")
    page.wait(lambda: len(page.all("article.conflict")) == before - 1, "one conflict less")


def scene_mesh(page):
    """the mesh is drawn with a node for each peer and a line for each connection"""
    page.visit("mesh", "#/mesh")
    page.wait(lambda: len(page.all(".mesh .peer")) >= 3, "three peers")
    assert len(page.all(".mesh .connection")) >= 2
    assert page.all(".mesh .peer.local")


def scene_missing_document(page):
    """three clicks lead from a collection to the reason why a document is not on a peer"""
    page.visit("mesh", "#/collections/cars")
    page.click(".vrow", "car-0000009")
    page.click("a", "On which peers?")
    page.click(".answers a", "no subscription")
    page.find(".path-step.blocking")
    assert "subscription" in page.text(".blocking-note")


def scene_present_document(page):
    """a document that has arrived has a way without a blocking step"""
    page.visit("mesh", "#/mesh?collection=cars&id=\"car-0000009\"")
    page.click(".answers a", "there")
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
