import SheafDocument
import SheafEngine
import SheafQuery
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// Tests of single documents of a peer that may read some cars and must not write locked ones.
@Suite struct HiddenReceptionTests {
    private let peer: SceneStore
    private let receiver: ReceivingStore
    private let ann: [UInt8]
    private let bob: [UInt8]
    private let heldByAnn: [UInt8]

    /// The length that a document adds to the transaction.
    private enum Length {
        case nothing
        /// Length of the document in the store.
        case stored
        /// Length of the document as the peer knows it, which may differ from the stored one.
        case alone
        case unknown
    }

    /// A document that the peer sends.
    private struct Write {
        let id: String
        let bytes: [UInt8]
        var isPartial = false
        /// The earlier writes of the peer to the document, which is hidden from it.
        var shadow: [UInt8]?
        /// Whether the peer has sent the document before.
        var isReceived = false
        let outcome: String
        /// The document afterwards; nil if there is none, or a tombstone.
        let row: String?
        let length: Length
        /// Whether the stored document counts as a hidden one.
        var isHidden = false
    }

    init() throws {
        var options = LogStoreOptions()
        options.clock = FakeClock().clock
        peer = try SceneStore(SimulatedVolume(seed: 1), options)
        receiver = ReceivingStore(peer)
        ann = try Self.document(["owner": "ann"], 3, site: 5)
        bob = try Self.document(["owner": "bob"], 3, site: 5)
        heldByAnn = try Self.document(["owner": "ann", "locked": 1], 3, site: 5)
        let heldByBob = try Self.document(["owner": "bob", "locked": 1], 3, site: 5)
        for (id, bytes) in [
            ("ann", ann), ("bob", bob), ("heldByAnn", heldByAnn), ("heldByBob", heldByBob),
            ("deletedOfAnn", ann), ("deletedOfBob", bob),
        ] {
            try receiver.commit(.string(id), .join(bytes))
        }
        for id in ["deletedOfAnn", "deletedOfBob"] as [Value] {
            try receiver.commit(id, .delete)
        }
        try receiver.store.flush()
    }

    private static func stamp(_ milliseconds: UInt64, site: UInt64) -> Stamp {
        Stamp(
            HybridTime(milliseconds: 1_779_999_000_000 + milliseconds), Site(rawValue: site))
    }

    /// Returns a new document, by default one that the peer has written.
    private static func document(
        _ object: Object, _ milliseconds: UInt64 = 10, site: UInt64 = 7
    ) throws -> [UInt8] {
        try Insertion.document(object, at: stamp(milliseconds, site: site), NameTable())
    }

    /// Returns the delta of an edit by the peer.
    private static func delta(_ edit: Edit, of state: [UInt8]) throws -> [UInt8] {
        try state.withUnsafeBytes { bytes in
            let editor = try DocumentEditor(
                EncodedDocument(bytes), at: stamp(11, site: 7), NameTable())
            try editor.apply(edit)
            return try #require(try editor.finish())
        }
    }

    private static func deletion(
        of state: [UInt8], _ milliseconds: UInt64 = 11, site: UInt64 = 7
    ) throws -> [UInt8] {
        try state.withUnsafeBytes { bytes in
            try #require(
                try Insertion.deletion(of: bytes, at: stamp(milliseconds, site: site)))
        }
    }

    private func rule(for write: Write) throws -> WriteRule {
        let address = ReceivingStore.address(write.id)
        var shadows = ShadowTable()
        if let shadow = write.shadow { shadows.set(address, shadow) }
        var received = ReceivedDocuments()
        if write.isReceived { received.add(address) }
        return WriteJob.writeRule(
            try peer.subscriptions(["SELECT * FROM cars WHERE locked IS MISSING"]),
            readable: try peer.subscriptions(["SELECT * FROM cars WHERE owner = 'ann'"]),
            shadows, received, peer.queries, .unlimited(stop: nil), stop: nil)
    }

    /// Returns the length of a document that is received alone.
    private func length(of bytes: [UInt8]) throws -> Int? {
        var transaction = receiver.engine.begin()
        _ = try receiver.receive(bytes, "alone", .maySpellNames, in: &transaction)
        let state = try receiver.state(of: "alone", in: &transaction)
        receiver.engine.rollBack(&transaction)
        return state?.count
    }

    private func check(_ writes: [Write]) throws {
        for (number, write) in writes.enumerated() {
            var alone: Int?
            if !write.isPartial { alone = try length(of: write.bytes) }
            let rule = try rule(for: write)
            var transaction = receiver.engine.begin()
            let before = try receiver.state(of: write.id, in: &transaction)
            #expect(before == nil)
            let marks: SpillBuffer.Marks =
                write.isPartial ? [.maySpellNames, .isPartial] : .maySpellNames
            let outcome = try receiver.receive(
                write.bytes, write.id, marks, by: rule, in: &transaction)
            #expect(outcome == write.outcome, "write \(number)")
            let state = try receiver.state(of: write.id, in: &transaction)
            let row = ReceivingStore.json(state, transaction.catalog.names)
            #expect(row == write.row, "write \(number)")
            switch write.length {
            case .nothing: #expect(transaction.changedLength == 0, "write \(number)")
            case .stored: #expect(transaction.changedLength == state?.count, "write \(number)")
            case .alone: #expect(transaction.changedLength == alone, "write \(number)")
            case .unknown: break
            }
            let hidden = write.isHidden ? state?.count : 0
            #expect(transaction.hiddenLength == hidden, "write \(number)")
            receiver.engine.rollBack(&transaction)
        }
    }

    private let annRow = #"{"owner":"ann"}"#
    private let bobRow = #"{"owner":"bob"}"#
    private let carlRow = #"{"owner":"carl"}"#

    @Test func `a write to a readable document is hidden if its result is not readable`() throws {
        let byAnn = try Self.document(["owner": "ann"])
        let byBob = try Self.document(["owner": "bob"])
        let locked = try Self.document(["owner": "ann", "locked": 1])
        let widened = try Self.document(["owner": "ann", "w": 1])
        let unlocked = try ReceivingStore.joined(
            heldByAnn, try Self.delta(.unset(path: ["locked"]), of: heldByAnn))
        let heldRow = #"{"locked":1,"owner":"ann"}"#
        try check([
            Write(id: "n", bytes: byAnn, outcome: "accepted new", row: annRow, length: .stored),
            Write(
                id: "n", bytes: byBob, outcome: "hidden written new \(bobRow)", row: bobRow,
                length: .stored),
            Write(id: "n", bytes: locked, outcome: "refused result", row: nil, length: .nothing),
            Write(
                id: "ann", bytes: byBob, outcome: "hidden written incomplete \(bobRow) before",
                row: bobRow, length: .stored),
            Write(
                id: "ann", bytes: try ReceivingStore.joined(ann, byBob),
                outcome: "hidden written new \(bobRow) before", row: bobRow, length: .stored),
            Write(
                id: "ann", bytes: widened, outcome: "merged before",
                row: #"{"owner":"ann","w":1}"#, length: .stored),
            Write(id: "ann", bytes: ann, outcome: "accepted", row: annRow, length: .nothing),
            Write(
                id: "heldByAnn", bytes: widened, outcome: "refused result before", row: heldRow,
                length: .nothing),
            Write(
                id: "heldByAnn", bytes: unlocked, outcome: "refused original before",
                row: heldRow, length: .nothing),
        ])
    }

    @Test func `a write to a hidden document is judged alone, and joined if that is permitted`()
        throws
    {
        let byAnn = try Self.document(["owner": "ann"])
        let byCarl = try Self.document(["owner": "carl"])
        let locked = try Self.document(["owner": "ann", "locked": 1])
        let heldRow = #"{"locked":1,"owner":"bob"}"#
        try check([
            Write(
                id: "bob", bytes: byCarl, outcome: "hidden written \(carlRow)", row: carlRow,
                length: .alone, isHidden: true),
            Write(
                id: "bob", bytes: try ReceivingStore.joined(bob, byCarl),
                outcome: "hidden written new \(carlRow)", row: carlRow, length: .alone,
                isHidden: true),
            Write(
                id: "bob", bytes: bob, outcome: "hidden written \(bobRow)", row: bobRow,
                length: .alone),
            Write(
                id: "heldByBob", bytes: byCarl, outcome: "hidden \(carlRow)", row: heldRow,
                length: .alone),
            Write(
                id: "bob", bytes: byAnn, outcome: "merged", row: annRow, length: .alone,
                isHidden: true),
            Write(
                id: "bob", bytes: try ReceivingStore.joined(bob, byAnn),
                outcome: "accepted new", row: annRow, length: .alone, isHidden: true),
            Write(
                id: "bob", bytes: locked, outcome: "refused result", row: bobRow,
                length: .nothing),
            Write(
                id: "bob", bytes: try Self.delta(.set(path: ["w"], to: 4), of: bob),
                isPartial: true, outcome: "gap", row: bobRow, length: .nothing),
        ])
    }

    @Test func `a write to a hidden document follows the earlier writes of the peer`() throws {
        let byCarl = try Self.document(["owner": "carl"])
        let other = try Self.document(["v": 1], 9, site: 8)
        let change = try Self.delta(.set(path: ["w"], to: 4), of: byCarl)
        let changed = #"{"owner":"carl","w":4}"#
        let known = #"{"owner":"carl","v":1}"#
        try check([
            // The stored document lacks the base of the delta.
            Write(
                id: "bob", bytes: change, isPartial: true, shadow: byCarl,
                outcome: "hidden written \(changed) with another state", row: changed,
                length: .unknown, isHidden: true),
            Write(
                id: "heldByBob", bytes: change, isPartial: true, shadow: byCarl,
                outcome: "hidden \(changed) with another state",
                row: #"{"locked":1,"owner":"bob"}"#, length: .unknown),
            Write(
                id: "bob", bytes: byCarl, shadow: try ReceivingStore.joined(byCarl, other),
                outcome: "hidden written incomplete \(known) with another state", row: carlRow,
                length: .nothing, isHidden: true),
        ])
    }

    @Test func `a deletion is hidden if the peer may not learn of it`() throws {
        let byAnn = try Self.document(["owner": "ann"])
        let lost = try Self.document(["owner": "ann"], 1, site: 5)
        try check([
            Write(
                id: "ann", bytes: try Self.deletion(of: ann), outcome: "accepted new", row: nil,
                length: .stored),
            Write(
                id: "bob", bytes: try Self.deletion(of: bob),
                outcome: "hidden written new nothing", row: nil, length: .alone,
                isHidden: true),
            Write(
                id: "n", bytes: try Self.deletion(of: byAnn),
                outcome: "hidden written new nothing", row: nil, length: .stored),
            Write(
                id: "heldByAnn", bytes: try Self.deletion(of: heldByAnn),
                outcome: "deletion refused", row: #"{"locked":1,"owner":"ann"}"#,
                length: .nothing),
            Write(
                id: "heldByAnn", bytes: try Self.deletion(of: lost, 2, site: 5),
                outcome: "seen deletion refused", row: #"{"locked":1,"owner":"ann"}"#,
                length: .nothing),
            Write(
                id: "deletedOfAnn", bytes: byAnn, outcome: "merged before, lacks own",
                row: annRow, length: .stored),
            Write(
                id: "deletedOfBob", bytes: byAnn, outcome: "merged", row: annRow,
                length: .alone, isHidden: true),
            Write(
                id: "deletedOfBob", bytes: byAnn, isReceived: true,
                outcome: "merged before, lacks own", row: annRow, length: .stored),
            Write(
                id: "deletedOfBob", bytes: byAnn,
                shadow: try Self.document(["owner": "carl"], 9), isReceived: true,
                outcome: "merged", row: annRow, length: .unknown, isHidden: true),
        ])
    }
}
