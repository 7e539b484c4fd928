import Sheaf
import SheafDocument
import SheafInspector
import SheafReplication
import Testing

/// Tests of the step from the inspected peer to a connected one, for each state of the peer.
@Suite struct ExplanationStepTests {
    /// The knowledge about a document and a peer; by default, the document has arrived there.
    private struct Facts {
        var presence = DocumentStatus.Presence.present
        var commit: UInt64? = 7
        var isConnected = true
        var lastCloseReason: String?
        var matching = ["SELECT * FROM cars"]
        var queryCount: Int? = 1
        var isShared = true
        var (mayRead, maySend) = (true, true)
        var sentUpTo: UInt64?
        var acknowledgedUpTo: UInt64? = 7
        var clock = ClockReport()

        var explanation: SyncExplanation {
            SyncExplanation(
                presence: presence, commit: commit, isConnected: isConnected,
                lastCloseReason: lastCloseReason, matching: matching, queryCount: queryCount,
                scope: "BigPeerOnly", isShared: isShared, mayRead: mayRead, maySend: maySend,
                sentUpTo: sentUpTo, acknowledgedUpTo: acknowledgedUpTo, clock: clock,
                quarantinedUntil: nil, aheadMilliseconds: nil, refused: nil)
        }
    }

    private static let own = PeerKey(unchecked: [UInt8](repeating: 1, count: 32))
    private static let other = PeerKey(unchecked: [UInt8](repeating: 2, count: 32))

    /// Checks the step that follows from changed facts.
    private func check(
        _ state: String, _ reason: String, _ change: (inout Facts) -> Void,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var facts = Facts()
        change(&facts)
        let step = ExplanationStep(Self.own, Self.other, facts.explanation)
        #expect(step.state.rawValue == state, sourceLocation: sourceLocation)
        #expect(step.reason == reason, sourceLocation: sourceLocation)
    }

    @Test func `a step is ok once the peer has acknowledged the commit`() {
        check("ok", "the peer has acknowledged commit 7") { _ in }
        check("ok", "the peer has acknowledged commit 8") { $0.acknowledgedUpTo = 8 }
        let lagging = "commit 7 changed the document; the peer has acknowledged commit "
        check("lagging", lagging + "6") { $0.acknowledgedUpTo = 6 }
        check("lagging", lagging + "0") { $0.acknowledgedUpTo = nil }
        check("lagging", lagging + "6 and was sent commit 9") {
            $0.acknowledgedUpTo = 6
            $0.sentUpTo = 9
        }
        check("ok", "the peer has acknowledged commit 0") {
            $0.commit = nil
            $0.acknowledgedUpTo = nil
        }
    }

    @Test func `a document that the peer has put in quarantine lags, with the reason`() {
        let remedy =
            "correct the wrong clock, then run 'sheaf clock PATH --repair' on the store that "
            + "wrote them"
        let progress = "commit 7 changed the document; the peer has acknowledged commit 7"
        check(
            "lagging",
            progress + "; its clock is about 2 hours ahead of the local clock; it has quarantined "
                + "3 documents from here, stamped up to 2 days ahead of its clock; " + remedy
        ) {
            $0.clock.offsetMilliseconds = 7_200_000
            $0.clock.quarantinedRemotely = QuarantineSummary(
                count: 3, aheadMilliseconds: 172_800_000)
        }
        check("ok", "the peer has acknowledged commit 7") {
            $0.clock.quarantined = QuarantineSummary(count: 1, aheadMilliseconds: 90_000)
        }
    }

    @Test func `a deletion is a step of its own, whether a query selected the document or not`() {
        let deleted = "commit 7 deleted the document, and the peer has acknowledged it"
        for matching in [[], ["SELECT * FROM cars"]] {
            check("deleted", deleted) { ($0.presence, $0.matching) = (.deleted, matching) }
        }
        check(
            "lagging", "commit 7 changed the document; the peer has acknowledged commit 6"
        ) { ($0.presence, $0.acknowledgedUpTo) = (.deleted, 6) }
    }

    @Test func `a step without a subscription names how many there are`() {
        for count in [nil, 0] as [Int?] {
            check("noSubscription", "the peer has no subscription") { $0.queryCount = count }
        }
        check("noSubscription", "the subscription of the peer does not select the document") {
            $0.matching = []
        }
        check(
            "noSubscription", "none of the 2 subscriptions of the peer selects the document"
        ) { ($0.matching, $0.queryCount) = ([], 2) }
    }

    @Test func `the first missing right precedes everything but the connection`() {
        let scope = "the sync scope of the collection is BigPeerOnly, which excludes the peer"
        let read = "the grant of the peer does not permit reading the document"
        let send = "the grant of this peer does not permit writing the document"
        check("noRight", scope) {
            ($0.isShared, $0.mayRead, $0.maySend, $0.queryCount) = (false, false, false, nil)
        }
        check("noRight", read) { ($0.mayRead, $0.maySend, $0.matching) = (false, false, []) }
        check("noRight", send) { ($0.maySend, $0.acknowledgedUpTo) = (false, nil) }
        check("notConnected", "there is no connection to the peer") {
            ($0.isConnected, $0.isShared) = (false, false)
        }
        check("notConnected", "there is no connection to the peer: a reason") {
            ($0.isConnected, $0.lastCloseReason) = (false, "a reason")
        }
    }

    @Test func `a step is an object with both keys, the state and the reason`() {
        let step = ExplanationStep(Self.own, Self.other, nil)
        #expect(
            step.object == [
                "from": .string("\(Self.own)"), "to": .string("\(Self.other)"),
                "state": "notConnected", "reason": "there is no connection to the peer",
            ])
    }
}
