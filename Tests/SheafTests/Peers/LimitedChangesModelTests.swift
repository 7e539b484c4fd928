import SheafDocument
import SheafReplication
import SheafTestSupport
import Testing

/// Tests of the list of changed documents for a limited peer, against a list and a dictionary.
struct LimitedChangesModelTests {
    private struct Entry: Equatable {
        var hasMatched: Bool
        var isOnlyFromPeer: Bool

        init(_ hasMatched: Bool, _ isOnlyFromPeer: Bool) {
            (self.hasMatched, self.isOnlyFromPeer) = (hasMatched, isOnlyFromPeer)
        }

        init(_ change: LimitedChanges.Change) {
            self.init(change.hasMatched, change.isOnlyFromPeer)
        }
    }

    /// Changes of which each document takes the bytes of its key, and 64 bytes, once per entry.
    private struct Model {
        var incoming: [(key: [UInt8], id: [UInt8], length: Int)] = []
        var changed: [[UInt8]: Entry] = [:]

        var length: Int {
            incoming.reduce(0) { $0 + $1.key.count + 64 + $1.length }
                + changed.keys.reduce(0) { $0 + $1.count + 64 }
        }

        mutating func add(_ key: [UInt8], _ id: [UInt8], _ length: Int, isFromPeer: Bool) {
            guard let entry = changed[key], entry.hasMatched else {
                return incoming.append((key, id, length))
            }
            if !isFromPeer { changed[key] = Entry(true, false) }
        }
    }

    private func expectEqual(
        _ changes: LimitedChanges, _ model: Model, _ context: String,
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(
            changes.first?.address.id == model.incoming.first?.id, "\(context)",
            sourceLocation: location)
        #expect(
            changes.first?.key == model.incoming.first?.key, "\(context)",
            sourceLocation: location)
        #expect(
            changes.count == model.incoming.count + model.changed.count, "\(context)",
            sourceLocation: location)
        #expect(changes.isEmpty == (changes.count == 0), "\(context)", sourceLocation: location)
        #expect(changes.length == model.length, "\(context)", sourceLocation: location)
        #expect(
            changes.changed.mapValues { Entry($0) } == model.changed, "\(context)",
            sourceLocation: location)
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `changes wait in order, and each changed document has one entry`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed, "limited changes")
        var (changes, model) = (LimitedChanges(), Model())
        #expect(changes.isEmpty && changes.first == nil && changes.length == 0)
        for number in 0..<400 {
            let key = [UInt8](repeating: UInt8(random.below(5)), count: 3 + random.below(2))
            switch random.below(10) {
            case 0..<5:
                let id = [UInt8(number >> 8), UInt8(number & 255)]
                let (length, isFromPeer) = (random.below(1_000), random.chance(1, in: 2))
                changes.add(
                    LimitedChanges.Incoming(
                        key: key, address: DocumentAddress(collection: "cars", id: id),
                        before: nil, isFromPeer: isFromPeer, beforeLength: length))
                model.add(key, id, length, isFromPeer: isFromPeer)
            case 5..<8:
                changes.removeFirst()
                if !model.incoming.isEmpty { model.incoming.removeFirst() }
            case 8:
                let entry = Entry(random.chance(1, in: 2), random.chance(1, in: 2))
                var change = LimitedChanges.Change()
                (change.hasMatched, change.isOnlyFromPeer) =
                    (entry.hasMatched, entry.isOnlyFromPeer)
                changes.set(change, for: key)
                model.changed[key] = entry
            default:
                guard random.chance(1, in: 4) else { continue }
                let before = model.length
                let taken = changes.drainChanged()
                model.changed = [:]
                #expect(taken == before - model.length, "seed \(seed), step \(number)")
            }
            expectEqual(changes, model, "seed \(seed), step \(number)")
        }
    }

    @Test func `a document has matched no query, and only the peer has changed it, at first`() {
        #expect(Entry(LimitedChanges.Change()) == Entry(false, true))
    }
}
