import SheafBytes
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// Tests of the outcomes of received documents, one by one.
@Suite struct ReceptionTests {
    private let clock = FakeClock()
    private let receiver: ReceivingStore
    private let now: UInt64 = 1_780_000_000_000

    init() throws {
        receiver = try ReceivingStore(SimulatedVolume(seed: 1), clock)
    }

    /// Returns a stamp of a site, up to a second before the clock.
    private func stamp(_ milliseconds: UInt64, _ site: UInt64) -> Stamp {
        Stamp(HybridTime(milliseconds: now - 1_000 + milliseconds), Site(rawValue: site))
    }

    private func document(_ object: Object, _ stamp: Stamp) throws -> [UInt8] {
        try Insertion.document(object, at: stamp, NameTable())
    }

    /// Returns the delta by which a write sets the field `w`.
    private func delta(of state: [UInt8], _ stamp: Stamp) throws -> [UInt8] {
        try state.withUnsafeBytes { bytes in
            let editor = try DocumentEditor(EncodedDocument(bytes), at: stamp, NameTable())
            try editor.apply(.set(path: ["w"], to: 4))
            return try #require(try editor.finish())
        }
    }

    @Test func `the version vectors of a received document and the stored one decide the outcome`()
        throws
    {
        let first = try document(["x": 1], stamp(1, 5))
        let other = try document(["y": 2], stamp(2, 6))
        let both = try ReceivingStore.joined(first, other)
        let newer = try document(["y": 3], stamp(3, 6))
        let change = try delta(of: both, stamp(4, 6))
        try receiver.commit("own", .join(first))
        try receiver.commit("own", .edit([.set(path: ["z"], to: 3)]))
        try receiver.commit("one", .join(first))
        try receiver.commit("two", .join(both))
        try receiver.store.flush()
        let partial: SpillBuffer.Marks = .isPartial
        let tests: [(String, [UInt8], SpillBuffer.Marks, [UInt64], String, Object?)] = [
            ("own", first, [], [], "merged before, lacks own", nil),
            ("two", first, [], [], "merged before", nil),
            ("two", first, [], [5], "merged before", nil),
            ("two", first, [], [6], "merged before, lacks own", nil),
            ("two", first, [], [7], "merged before", nil),
            ("two", both, [], [5, 6], "accepted", nil),
            ("one", both, [], [5, 6], "accepted new", ["x": 1, "y": 2]),
            ("two", newer, [], [], "merged before", ["x": 1, "y": 3]),
            ("two", change, partial, [], "accepted new", ["x": 1, "y": 2, "w": 4]),
            ("one", change, partial, [], "gap", nil),
            ("none", change, partial, [], "gap", nil),
            ("none", both, [], [], "accepted new", ["x": 1, "y": 2]),
            ("none", both, .maySpellNames, [], "accepted new", ["x": 1, "y": 2]),
        ]
        for (number, test) in tests.enumerated() {
            let (id, bytes, marks, former, expected, value) = test
            var transaction = receiver.engine.begin()
            transaction.formerSites = former.map { Site(rawValue: $0) }
            let outcome = try receiver.receive(bytes, id, marks, in: &transaction)
            #expect(outcome == expected, "case \(number)")
            let state = try receiver.state(of: id, in: &transaction)
            let length = value == nil ? 0 : state?.count
            #expect(transaction.changedLength == length, "case \(number)")
            #expect(transaction.hasChanges == (value != nil), "case \(number)")
            if let value {
                let names = transaction.catalog.names
                let found = try state?.withUnsafeBytes { try EncodedDocument($0).value(names) }
                #expect(found == value, "case \(number)")
            }
            receiver.engine.rollBack(&transaction)
        }
    }

    @Test(arguments: [false, true])
    func `a document ahead of the clock is accepted up to the tolerance and the allowance`(
        _ maySpellNames: Bool
    ) throws {
        let marks: SpillBuffer.Marks = maySpellNames ? .maySpellNames : []
        for (ahead, allowance, isAccepted) in [
            (300_000, 0, true), (300_001, 0, false), (300_001, 1, true), (300_005, 5, true),
            (300_006, 5, false),
        ] as [(UInt64, UInt64, Bool)] {
            let time = HybridTime(milliseconds: now + ahead)
            let bytes = try document(["x": 1], Stamp(time, Site(rawValue: 5)))
            var transaction = receiver.engine.begin()
            transaction.aheadAllowance = allowance
            let before = transaction.clock.latest
            let outcome = try receiver.receive(bytes, "none", marks, in: &transaction)
            let expected = isAccepted ? "accepted new" : "ahead \(time.rawValue)"
            #expect(outcome == expected, "\(ahead)")
            #expect(transaction.clock.latest == (isAccepted ? time : before), "\(ahead)")
            let count = transaction.encoded.count + transaction.working.count
            #expect(count == (isAccepted ? 1 : 0), "\(ahead)")
            receiver.engine.rollBack(&transaction)
        }
    }

    @Test func `a document that occurs twice in a batch is invalid`() throws {
        let bytes = try document(["x": 1], stamp(1, 5))
        try receiver.commit("stored", .join(bytes))
        let refusal = EngineError.invalidDocument(
            .invalid("a document that occurs twice in a batch", at: 0))
        for (first, second) in [
            ([], []), ([], .maySpellNames), (.maySpellNames, []),
        ] as [(SpillBuffer.Marks, SpillBuffer.Marks)] {
            for id in ["stored", "none"] {
                var transaction = receiver.engine.begin()
                _ = try receiver.receive(bytes, id, first, in: &transaction)
                _ = try receiver.receive(bytes, "another", first, in: &transaction)
                #expect(throws: refusal) {
                    _ = try receiver.receive(bytes, id, second, in: &transaction)
                }
                receiver.engine.rollBack(&transaction)
            }
        }
    }

    @Test func `received documents count to the length of the transaction`() throws {
        let bytes = try document(["x": 1], stamp(1, 5))
        for marks in [[], .maySpellNames] as [SpillBuffer.Marks] {
            for (limit, isAccepted) in [
                (2 * bytes.count, true), (2 * bytes.count - 1, false),
            ] {
                let receiver = try ReceivingStore(
                    SimulatedVolume(seed: 2), clock, transactionLength: limit)
                var transaction = receiver.engine.begin()
                _ = try receiver.receive(bytes, "a", marks, in: &transaction)
                #expect(transaction.changedLength == bytes.count)
                var found: EngineError?
                do throws(EngineError) {
                    _ = try receiver.receive(bytes, "b", marks, in: &transaction)
                } catch {
                    found = error
                }
                let refusal = EngineError.limit(
                    name: "maximumTransactionLength", value: 2 * bytes.count, limit: limit)
                #expect(found == (isAccepted ? nil : refusal))
                receiver.engine.rollBack(&transaction)
            }
        }
    }
}
