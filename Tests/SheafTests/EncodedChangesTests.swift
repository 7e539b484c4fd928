import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the documents that a transaction changes once, against an array.
@Suite struct EncodedChangesTests {
    private struct Change {
        let id: UInt8
        let isDeletion: Bool
        let state: [UInt8]
        let spellsNames: Bool
        let original: [UInt8]?
    }

    /// The keys, many of which collide in the hash table.
    private static let keys = (0..<80 as Range<UInt8>).map { id in
        DocumentKey(
            StoreKey.document(collection: 0, id: [id]).bytes,
            hash: EncodedChangesTests.hashes[Int(id) % 6])
    }
    private static let hashes: [UInt64] = [0, 1, 15, 16, .max, .max - 1]

    private let store: StoreEngine

    init() throws {
        store = try StoreEngine(opening: SimulatedVolume(seed: 1))
    }

    /// Writes payloads to the store; returns its snapshot.
    private func write(_ payloads: [(key: [UInt8], payload: [UInt8])]) throws -> LogSnapshot {
        var batch = WriteBatch()
        for (key, payload) in payloads { try batch.put(key, payload) }
        _ = try store.append(batch)
        try store.flush()
        return store.snapshot()
    }

    /// Returns a snapshot with some documents, and their states.
    private func logged() throws -> (snapshot: LogSnapshot, states: [LoggedState]) {
        let stamp = Stamp(HybridTime(milliseconds: 1_780_000_000_000), Site(rawValue: 5))
        let keys = (0..<5 as Range<UInt8>).map { id in
            StoreKey.document(collection: 1, id: [id]).bytes
        }
        var payloads: [(key: [UInt8], payload: [UInt8])] = []
        for (number, key) in keys.enumerated() {
            let object: Object = ["x": .integer(Int64(number))]
            let state = try Insertion.document(object, at: stamp, NameTable())
            payloads.append((key: key, payload: [DocumentPayload.stateKind] + state))
        }
        let snapshot = try write(payloads)
        var states: [LoggedState] = []
        for key in keys {
            let operations = try key.withUnsafeBytes { try snapshot.operations(of: $0) }
            states.append(try LoggedState(try #require(operations.first).operation))
        }
        return (snapshot, states)
    }

    /// Compares changes with the expected ones.
    private func check(_ changes: EncodedChanges, _ expected: [Change], _ comment: Comment) {
        #expect(changes.count == expected.count, comment)
        #expect(changes.isEmpty == expected.isEmpty, comment)
        #expect(changes.length == expected.reduce(0) { $0 + $1.state.count }, comment)
        #expect(changes.newCount == expected.filter { $0.original == nil }.count, comment)
        let found = Self.keys.map { changes.index(of: $0) }
        let indices = (0..<80 as Range<UInt8>).map { id in expected.firstIndex { $0.id == id } }
        #expect(found == indices, comment)
        for (index, change) in expected.enumerated() where index < changes.count {
            let original = changes.original(index).map { Array($0.bytes) }
            let isRight =
                changes.key(index) == Self.keys[Int(change.id)]
                && changes.state(index) == change.state
                && changes.document(index).bytes == change.state
                && changes.isDeletion(index) == change.isDeletion
                && changes.spellsNames(index) == change.spellsNames
                && original == change.original
            #expect(isRight, comment)
        }
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `changes are found by their keys, also after some of them were removed`(
        seed: UInt64
    ) throws {
        var random = SeededRandom(seed: seed, "encoded changes")
        let (snapshot, states) = try logged()
        var changes = EncodedChanges()
        var expected: [Change] = []
        for step in 0..<150 {
            if random.chance(1, in: 15) {
                let kept = random.below(expected.count + 3)
                changes.truncate(to: kept)
                expected.removeLast(max(expected.count - kept, 0))
            } else if random.chance(1, in: 15) {
                changes.reserve(changes.count + random.below(60))
            } else {
                let id = UInt8(random.below(80))
                guard !expected.contains(where: { $0.id == id }) else { continue }
                let original = random.chance(1, in: 3) ? states[random.below(5)] : nil
                let change = Change(
                    id: id, isDeletion: random.chance(1, in: 4),
                    state: random.bytes(random.below(40)), spellsNames: random.chance(1, in: 2),
                    original: original.map { Array($0.bytes) })
                let kind =
                    change.isDeletion ? DocumentPayload.completeKind : DocumentPayload.stateKind
                try change.state.withUnsafeBytes { state in
                    try changes.append(
                        Self.keys[Int(id)], kind, state, spellsNames: change.spellsNames,
                        of: original)
                }
                expected.append(change)
            }
            if step % 10 == 0 { check(changes, expected, "seed \(seed), step \(step)") }
        }
        check(changes, expected, "seed \(seed)")
        changes.endTransaction()
        let ended = expected.map { change in
            Change(
                id: change.id, isDeletion: change.isDeletion, state: change.state,
                spellsNames: change.spellsNames, original: nil)
        }
        check(changes, ended, "seed \(seed), ended")
        withExtendedLifetime(snapshot) {}
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `a snapshot lacks the keys that it does not have, in whatever order they are asked`(
        seed: UInt64
    ) throws {
        var random = SeededRandom(seed: seed, "absent keys")
        let keys = (0..<3 as Range<UInt16>).flatMap { collection in
            (0..<40 as Range<UInt8>).map { id in
                StoreKey.document(collection: collection, id: [id]).bytes
            }
        }
        let present = keys.map { _ in random.chance(1, in: 12) }
        // Beside the documents there are keys before them and after them.
        var payloads: [(key: [UInt8], payload: [UInt8])] = []
        payloads.append((key: StoreKey.site.bytes, payload: [1]))
        for (key, isPresent) in zip(keys, present) where isPresent {
            payloads.append((key: key, payload: [1]))
        }
        payloads.append((key: StoreKey.document(collection: 7, id: [0]).bytes, payload: [1]))
        let snapshot = try write(payloads)
        var changes = EncodedChanges()
        var next = 0
        for step in 0..<400 {
            // Ascending keys, with jumps at first; then random keys.
            let isJump = step > 300 || random.chance(1, in: 15)
            next = isJump ? random.below(keys.count) : (next + 1) % keys.count
            let isAbsent = changes.isAbsent(keys[next], in: snapshot)
            #expect(isAbsent == !present[next], "seed \(seed), step \(step), key \(next)")
        }
    }

    @Test func `the names that documents spell out are marked, and no key has no change`() throws {
        let changes = EncodedChanges()
        #expect(changes.index(of: Self.keys[0]) == nil)
        #expect(changes.isEmpty && changes.count == 0 && changes.newCount == 0)
        // A truncation to more changes than there are changes nothing.
        var more = changes
        try [UInt8(9)].withUnsafeBytes { state in
            try more.append(Self.keys[0], DocumentPayload.stateKind, state)
        }
        more.truncate(to: 1)
        more.truncate(to: 2)
        #expect(more.index(of: Self.keys[0]) == 0 && !more.spellsNames(0))
        more.truncate(to: 0)
        #expect(more.index(of: Self.keys[0]) == nil && more.isEmpty && more.length == 0)
    }
}
