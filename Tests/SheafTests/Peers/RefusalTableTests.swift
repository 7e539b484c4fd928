import Sheaf
import SheafDocument
import SheafReplication
import Testing

/// Tests of the table of refused documents: what accepts them, and what it reports.
struct RefusalTableTests {
    private let key = [UInt8](repeating: 1, count: 32)
    private let other = [UInt8](repeating: 2, count: 32)

    private func address(_ id: String) throws -> DocumentAddress {
        DocumentAddress(collection: "cars", id: try DocumentID.key(of: .string(id)))
    }

    private func ids(_ writes: [RefusedWrite]) -> [String] { writes.map(\.documentID.json) }

    // MARK: Accepted documents

    @Test func `a document sent again is accepted by the acknowledgment of that batch`() throws {
        let (a, b) = (try address("a"), try address("b"))
        var table = RefusalTable()
        // A document that no peer refuses is not recorded.
        table.recordSent(b, with: 7, to: key)
        for peer in [key, other] {
            for address in [a, b] {
                table.add(address, [5], .document, of: peer, milliseconds: 0)
            }
        }
        table.recordAcknowledged(.max, by: key)
        #expect(table.addresses(of: key) == [a, b])
        table.recordSent(a, with: 7, to: key)
        table.recordAcknowledged(6, by: key)
        #expect(table.has(a, of: key))
        table.recordAcknowledged(7, by: key)
        #expect(!table.has(a, of: key) && table.has(b, of: key))
        #expect(table.addresses(of: other) == [a, b])
    }

    @Test func `a document that is refused again is not accepted`() throws {
        let a = try address("a")
        var table = RefusalTable()
        table.add(a, [5], .document, of: key, milliseconds: 0)
        table.recordSent(a, with: 7, to: key)
        table.add(a, [5], .document, of: key, milliseconds: 0)
        table.recordAcknowledged(7, by: key)
        #expect(table.has(a, of: key))
        table.recordSent(a, with: 9, to: key)
        table.recordAcknowledged(8, by: key)
        #expect(table.has(a, of: key) && table.has(key))
        table.recordAcknowledged(10, by: key)
        #expect(!table.has(key) && table.isEmpty)
    }

    @Test func `a reconciliation accepts all documents that were sent, and those without a name`()
        throws
    {
        let (a, b) = (try address("a"), try address("b"))
        var table = RefusalTable()
        for address in [a, b] { table.add(address, [5], .document, of: key, milliseconds: 0) }
        table.omit(3, through: 6, of: key)
        table.recordCompared(with: 20, by: key, except: [b])
        table.recordAcknowledged(19, by: key)
        #expect(table.addresses(of: key) == [a, b])
        #expect(table.refusals(of: key).omitted == 3)
        table.recordAcknowledged(20, by: key)
        #expect(table.addresses(of: key) == [b])
        let left = table.refusals(of: key)
        #expect(left.omitted == 0 && left.omittedThrough == 0 && ids(left.writes) == ["\"b\""])
        table.recordAcknowledged(.max, by: key)
        #expect(table.addresses(of: key) == [b])
    }

    @Test func `a new subscription discards the acknowledgments that were expected`() throws {
        let a = try address("a")
        var table = RefusalTable()
        table.add(a, [5], .document, of: key, milliseconds: 0)
        table.omit(1, through: 6, of: key)
        table.recordCompared(with: 20, by: key, except: [])
        table.beginAnew(key)
        table.recordAcknowledged(.max, by: key)
        #expect(table.has(a, of: key))
        #expect(table.refusals(of: key).omitted == 1)
    }

    @Test func `documents that are counted after a reconciliation wait for another one`() {
        var table = RefusalTable()
        table.omit(2, through: 9, of: key)
        table.recordCompared(with: 20, by: key, except: [])
        table.omit(1, through: 4, of: key)
        table.recordAcknowledged(20, by: key)
        let refusals = table.refusals(of: key)
        #expect(refusals.omitted == 3 && refusals.omittedThrough == 9)
        table.recordCompared(with: 21, by: key, except: [])
        table.recordAcknowledged(21, by: key)
        #expect(table.isEmpty)
    }

    @Test func `the number of documents without a name does not overflow`() {
        var table = RefusalTable()
        table.omit(0, through: 9, of: key)
        #expect(table.isEmpty)
        table.omit(.max - 1, through: 9, of: key)
        #expect(table.refusals(of: key).omitted == UInt64.max - 1)
        table.omit(5, through: 10, of: key)
        let refusals = table.refusals(of: key)
        #expect(refusals.omitted == .max && refusals.omittedThrough == 10)
    }

    // MARK: Removed documents

    @Test func `a document is removed for one peer or for all`() throws {
        let (a, b) = (try address("a"), try address("b"))
        var table = RefusalTable()
        for peer in [key, other] {
            for address in [a, b] { table.add(address, [5], .document, of: peer, milliseconds: 0) }
        }
        table.remove(a, of: key)
        #expect(table.addresses(of: key) == [b] && table.addresses(of: other) == [a, b])
        table.remove(b)
        #expect(table.addresses(of: key) == [] && table.addresses(of: other) == [a])
        #expect(!table.has(key) && table.has(other))
    }

    @Test func `the refusals of peers that are not known are discarded`() throws {
        let third = [UInt8](repeating: 3, count: 32)
        var table = RefusalTable()
        for peer in [key, other] {
            table.add(try address("a"), [5], .document, of: peer, milliseconds: 0)
        }
        table.omit(4, through: 5, of: other)
        table.omit(4, through: 5, of: third)
        _ = table.drainChanges()
        table.discard(but: [key])
        #expect(table.has(key) && !table.has(other) && !table.has(third))
        let changes = table.drainChanges()
        #expect(changes.map(\.key) == [other, third])
        #expect(changes.allSatisfy { $0.all.isEmpty && $0.new.isEmpty })
    }

    // MARK: Reports

    @Test func `new refusals are reported once, in the order of the peers and documents`() throws {
        var table = RefusalTable()
        let none = table.drainChanges()
        #expect(none.isEmpty)
        for id in ["b", "a"] {
            table.add(try address(id), [5], .original, of: other, milliseconds: 40)
        }
        table.add(try address("c"), [6], .document, of: key, milliseconds: 41)
        let first = table.drainChanges()
        #expect(first.map(\.key) == [key, other])
        #expect(first.map { ids($0.new) } == [["\"c\""], ["\"a\"", "\"b\""]])
        #expect(first.map { ids($0.all.writes) } == [["\"c\""], ["\"a\"", "\"b\""]])
        let write = try #require(first[0].new.first)
        #expect(write.collection == "cars" && write.peer.bytes == key)
        #expect(write.reason == .document && write.commitIDs == [6] && write.milliseconds == 41)
        let again = table.drainChanges()
        #expect(again.isEmpty)
    }

    @Test func `a known refusal is reported again only with other commits or another reason`()
        throws
    {
        let a = try address("a")
        var table = RefusalTable()
        table.add(a, [5, 6], .document, of: key, milliseconds: 40)
        _ = table.drainChanges()
        table.add(a, [6], .document, of: key, milliseconds: 41)
        let repeated = table.drainChanges()
        #expect(repeated.isEmpty)
        #expect(table.write(a, of: key)?.milliseconds == 40)
        table.add(a, [6, 7], .document, of: key, milliseconds: 42)
        let later = table.drainChanges()
        #expect(later.flatMap(\.new).map(\.commitIDs) == [[5, 6, 7]])
        #expect(table.write(a, of: key)?.milliseconds == 42)
        table.add(a, [5], .original, of: key, milliseconds: 43)
        let changed = table.drainChanges()
        #expect(changed.flatMap(\.new).map(\.reason) == [.original])
        #expect(table.write(a, of: key)?.commitIDs == [5, 6, 7])
    }

    /// The peer itself refuses documents that the grant of this peer forbids, too.
    @Test func `the reason that this peer knows is kept for commits that it knows`() throws {
        let a = try address("a")
        var table = RefusalTable()
        table.add(a, [5], .ownGrant, of: key, milliseconds: 40)
        _ = table.drainChanges()
        table.add(a, [5], .document, of: key, milliseconds: 41)
        let known = table.drainChanges()
        #expect(known.isEmpty)
        #expect(table.write(a, of: key)?.reason == .ownGrant)
        table.add(a, [9], .document, of: key, milliseconds: 42)
        let new = table.drainChanges()
        #expect(new.flatMap(\.new).map(\.reason) == [.document])
        #expect(new.flatMap(\.new).map(\.commitIDs) == [[5, 9]])
    }

    @Test func `a refusal that has ended is reported with the rest, and not as new`() throws {
        let (a, b) = (try address("a"), try address("b"))
        var table = RefusalTable()
        for address in [a, b] { table.add(address, [5], .document, of: key, milliseconds: 0) }
        table.remove(a, of: key)
        let first = table.drainChanges()
        #expect(first.map { ids($0.new) } == [["\"b\""]])
        table.remove(b, of: key)
        let ended = table.drainChanges()
        #expect(ended.map(\.key) == [key] && ended.allSatisfy { $0.all.isEmpty && $0.new.isEmpty })
        // A document without an entry changes nothing.
        table.remove(b, of: key)
        let nothing = table.drainChanges()
        #expect(nothing.isEmpty)
        table.omit(2, through: 8, of: key)
        let counted = table.drainChanges()
        #expect(counted.map(\.all.omitted) == [2] && counted.map(\.all.omittedThrough) == [8])
        table.recordCompared(with: 9, by: key, except: [])
        table.recordAcknowledged(9, by: key)
        let accepted = table.drainChanges()
        #expect(accepted.map(\.all.omitted) == [0])
    }

    @Test func `a refused write concerns its commits, and those between them if some are omitted`()
        throws
    {
        let a = try address("a")
        var table = RefusalTable()
        table.add(a, [5, 7], .document, of: key, milliseconds: 0)
        let write = try #require(table.write(a, of: key))
        #expect([4, 5, 6, 7, 8].map { write.concerns($0) } == [false, true, false, true, false])
        #expect(table.write(try address("b"), of: key) == nil)
        #expect(table.write(a, of: other) == nil)
        // Bytes that are no id belong to no document.
        let unreadable = DocumentAddress(collection: "cars", id: [0xFF])
        table.add(unreadable, [5], .document, of: key, milliseconds: 0)
        #expect(table.addresses(of: key) == [a, unreadable])
        #expect(ids(table.refusals(of: key).writes) == ["\"a\""])
    }
}
