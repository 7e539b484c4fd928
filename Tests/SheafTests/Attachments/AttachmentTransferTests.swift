import SheafAttachments
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafSystem
import SheafTestSupport
import Testing

/// The transfer of attachments, without sessions.
struct AttachmentTransferTests {
    private let id: AttachmentID

    init() throws {
        id = try #require(AttachmentID(bytes: [UInt8](repeating: 7, count: 32)))
    }

    /// Returns a transfer without attachments, with open connections 1 to `count`.
    private func transfer(
        connections count: UInt8, _ store: AttachmentStore = AttachmentStore(in: MemoryVolume())
    ) throws -> AttachmentTransfer {
        let simulation = try IndexSimulation(seed: 1, FakeClock())
        var transfer = AttachmentTransfer(
            store, simulation.engine, quota: 1 << 20,
            simulation.engine.snapshot())
        for number in 1...count { transfer.open(UInt64(number), exchange(number)) }
        return transfer
    }

    private func exchange(
        _ number: UInt8, _ scopes: SyncScopes = SyncScopes()
    ) -> AttachmentExchange {
        AttachmentExchange(
            key: [number], site: .initial,
            PeerAccess(nil, own: nil, scopes, until: EvaluationStop()))
    }

    /// Removes the effects, and returns the sent messages by connection.
    private func sent(
        by transfer: inout AttachmentTransfer
    ) -> [UInt64: [AttachmentTransfer.Message]] {
        defer { transfer.effects = [] }
        return transfer.effects.reduce(into: [:]) { found, effect in
            guard case .send(let number, let message) = effect else { return }
            found[number, default: []].append(message)
        }
    }

    @Test func `an attachment is sought on open connections and on later ones`() throws {
        var transfer = try transfer(connections: 1)
        transfer.fetch(id)
        let seek = AttachmentTransfer.Message.seek(Seek(id: id.bytes, hops: SyncLimits.hops))
        let first = sent(by: &transfer)
        #expect(first == [1: [seek]])
        transfer.open(2, exchange(2))
        let later = sent(by: &transfer)
        #expect(later == [2: [seek]])
        transfer.cancelFetch(id)
        let cancel = AttachmentTransfer.Message.seek(Seek(id: id.bytes, hops: 0))
        let cancelled = sent(by: &transfer)
        #expect(cancelled == [1: [cancel], 2: [cancel]])
    }

    @Test func `an effect that an event adds follows the pending ones`() throws {
        var transfer = try transfer(connections: 2)
        transfer.fetch(id)
        let first = transfer.nextEffect()
        transfer.cancelFetch(id)
        let seek = AttachmentTransfer.Message.seek(Seek(id: id.bytes, hops: SyncLimits.hops))
        let cancel = AttachmentTransfer.Message.seek(Seek(id: id.bytes, hops: 0))
        guard case .send(1, seek)? = first else {
            Issue.record("the first effect is not the request to connection 1")
            return
        }
        let rest = sent(by: &transfer)
        #expect(rest == [1: [cancel], 2: [seek, cancel]])
    }

    @Test func `hashes requested on a closed connection are requested from another peer`() throws {
        var transfer = try transfer(connections: 2)
        transfer.fetch(id)
        for number: UInt64 in 1...2 {
            transfer.offered(Offer(id: id.bytes, length: 100), on: number)
        }
        _ = sent(by: &transfer)
        let hashes = AttachmentTransfer.Message.fetch(AttachmentPart(id: id.bytes, .hashes, 0))
        transfer.requestParts()
        let requested = sent(by: &transfer)
        #expect(requested == [1: [hashes]])
        transfer.requestParts()
        let repeated = sent(by: &transfer)
        #expect(repeated.isEmpty)
        transfer.close(1)
        transfer.requestParts()
        let requestedAgain = sent(by: &transfer)
        #expect(requestedAgain == [2: [hashes]])
    }

    @Test(arguments: [1, 3]) func `a request is forwarded with one hop fewer`(hops: Int) throws {
        var transfer = try transfer(connections: 2)
        transfer.sought(Seek(id: id.bytes, hops: hops), on: 1)
        let forwarded = AttachmentTransfer.Message.seek(Seek(id: id.bytes, hops: hops - 1))
        let messages = sent(by: &transfer)
        #expect(messages == (hops > 1 ? [2: [forwarded]] : [:]))
    }

    private func ids(_ range: Range<UInt8>) -> [[UInt8]] {
        range.map { [$0] + [UInt8](repeating: 7, count: 31) }
    }

    /// Returns the attachments whose requests were forwarded to connection 3.
    private func forwarded(by transfer: inout AttachmentTransfer) -> Set<[UInt8]> {
        Set(
            (sent(by: &transfer)[3] ?? []).compactMap { message in
                guard case .seek(let seek) = message, seek.hops > 0 else { return nil }
                return seek.id
            })
    }

    @Test func `requests beyond the limit take turns, and those that end make room at once`()
        throws
    {
        var transfer = try transfer(connections: 3)
        for id in ids(0..<200) { transfer.sought(Seek(id: id, hops: 3), on: 1) }
        for id in ids(200..<202) { transfer.sought(Seek(id: id, hops: 3), on: 2) }
        let first = forwarded(by: &transfer)
        #expect(first == Set(ids(0..<64)))
        transfer.sought(Seek(id: ids(5..<6)[0], hops: 0), on: 1)
        transfer.tick()
        var found = forwarded(by: &transfer)
        #expect(found.count == 1)
        // Nothing has arrived of any of them, so the others come next, those of both peers.
        for _ in 0..<4 {
            transfer.now += 20_000_000_000
            transfer.tick()
            found.formUnion(forwarded(by: &transfer))
            #expect(found.isSuperset(of: ids(200..<202)))
        }
        #expect(found.union(first) == Set(ids(0..<202)))
    }

    @Test func `a peer that repeats its requests does not overtake others`() throws {
        var transfer = try transfer(connections: 3)
        for id in ids(0..<64) { transfer.sought(Seek(id: id, hops: 3), on: 1) }
        for id in ids(200..<202) { transfer.sought(Seek(id: id, hops: 3), on: 2) }
        _ = sent(by: &transfer)
        for id in ids(0..<64) {
            for hops in [0, 3] { transfer.sought(Seek(id: id, hops: hops), on: 1) }
        }
        transfer.tick()
        #expect(forwarded(by: &transfer).isSuperset(of: ids(200..<202)))
    }

    @Test func `a file that has arrived is offered, although others wait for room`() throws {
        let file = SampleFile(seed: 1, length: 9)
        let store = AttachmentStore(in: MemoryVolume())
        var transfer = try transfer(connections: 3, store)
        transfer.sought(Seek(id: file.id.bytes, hops: 3), on: 1)
        for id in ids(0..<100) { transfer.sought(Seek(id: id, hops: 3), on: 1) }
        _ = sent(by: &transfer)
        _ = try store.add(file.bytes)
        transfer.now += 20_000_000_000
        transfer.tick()
        let offer = AttachmentTransfer.Message.offer(Offer(id: file.id.bytes, length: 9))
        #expect(sent(by: &transfer)[1]?.contains(offer) == true)
    }

    @Test func `scans for an attachment of many documents are a pause apart`() throws {
        let simulation = try IndexSimulation(seed: 1, FakeClock())
        let token: Value = ["id": .string(id.description), "len": 12, "metadata": [:]]
        let count = ReferencingDocuments.maximumDocuments + 1
        for number in 0..<count {
            let name = Value.integer(Int64(number))
            let photo = Edit.set(path: ["photo"], to: token, as: .attachment)
            try simulation.commit([
                DocumentChange("cars", name, .insert(["n": 1], onConflict: .merge)),
                DocumentChange("cars", name, .edit([photo])),
            ])
        }
        try simulation.store.flush()
        var transfer = AttachmentTransfer(
            AttachmentStore(in: MemoryVolume()), simulation.engine, quota: 1 << 20,
            simulation.engine.snapshot())
        transfer.now = 10_000_000_000
        let scopes = try SyncScopes(["cars": "LocalPeerOnly"])
        for number: UInt8 in 1...2 { transfer.open(UInt64(number), exchange(number, scopes)) }
        transfer.sought(Seek(id: id.bytes, hops: 3), on: 1)
        transfer.tick()
        #expect(transfer.deadline == nil)
        transfer.sought(Seek(id: id.bytes, hops: 3), on: 2)
        transfer.tick()
        let pause = UInt64(count) * AttachmentTransfer.scanNanosecondsPerDocument
        #expect(transfer.deadline == transfer.now + pause)
        transfer.now += pause
        transfer.tick()
        #expect(transfer.deadline == nil)
    }

    @Test func `a scan for one peer also finds the documents for the requests of others`() throws {
        let simulation = try IndexSimulation(seed: 1, FakeClock())
        let token: Value = ["id": .string(id.description), "len": 12, "metadata": [:]]
        try simulation.commit([
            DocumentChange("cars", 1, .insert(["n": 1], onConflict: .merge)),
            DocumentChange("cars", 1, .edit([.set(path: ["photo"], to: token, as: .attachment)])),
        ])
        try simulation.store.flush()
        var transfer = AttachmentTransfer(
            AttachmentStore(in: MemoryVolume()), simulation.engine, quota: 1 << 20,
            simulation.engine.snapshot())
        let scopes = try SyncScopes(["cars": "LocalPeerOnly"])
        for number: UInt8 in 1...2 { transfer.open(UInt64(number), exchange(number, scopes)) }
        let later = try #require(AttachmentID(bytes: ids(0..<1)[0]))
        for (number, sought) in zip(UInt64(1)..., [id, later]) {
            transfer.now += 10_000_000_000
            transfer.sought(Seek(id: sought.bytes, hops: 3), on: number)
            transfer.tick()
            // Without its documents, each commit would cause another scan for the first peer.
            #expect(transfer.references.covers(id))
            #expect(transfer.references.covers(sought))
        }
        #expect(!transfer.references.keys(referencing: id).isEmpty)
        #expect(transfer.references.keys(referencing: later).isEmpty)
    }

    @Test func `requests that no peer forwards wait for nothing`() throws {
        var transfer = try transfer(connections: 3)
        for id in ids(0..<100) { transfer.sought(Seek(id: id, hops: 3), on: 1) }
        for id in ids(0..<100) { transfer.sought(Seek(id: id, hops: 0), on: 1) }
        transfer.tick()
        #expect(transfer.deadline == nil)
    }

    @Test func `after wrong hashes, the hashes are requested from another peer`() throws {
        var transfer = try transfer(connections: 2)
        transfer.fetch(id)
        for number: UInt64 in 1...2 {
            transfer.offered(Offer(id: id.bytes, length: 100), on: number)
        }
        transfer.requestParts()
        _ = sent(by: &transfer)
        let part = AttachmentPart(id: id.bytes, .hashes, 0)
        transfer.fetched(part, [UInt8](repeating: 1, count: 32), on: 1)
        transfer.requestParts()
        let messages = sent(by: &transfer)
        #expect(messages == [2: [.fetch(part)]])
    }

    @Test func `a peer that sends nothing for twenty seconds is replaced by another one`() throws {
        let second: UInt64 = 1_000_000_000
        var transfer = try transfer(connections: 2)
        transfer.now = second
        transfer.fetch(id)
        transfer.tick()
        for number: UInt64 in 1...2 {
            transfer.offered(Offer(id: id.bytes, length: 100), on: number)
        }
        transfer.requestParts()
        _ = sent(by: &transfer)
        #expect(transfer.deadline == 21 * second)
        transfer.now = 21 * second - 1
        transfer.tick()
        transfer.requestParts()
        let early = sent(by: &transfer)
        #expect(early.isEmpty)
        transfer.now = 21 * second
        transfer.tick()
        transfer.requestParts()
        let hashes = AttachmentTransfer.Message.fetch(AttachmentPart(id: id.bytes, .hashes, 0))
        let requested = sent(by: &transfer)
        #expect(requested == [2: [hashes]])
    }

    @Test func `an attachment that is fetched is marked as in use once a minute`() throws {
        let minute: UInt64 = 60_000_000_000
        var transfer = try transfer(connections: 1)
        transfer.now = 1_000_000_000
        transfer.fetch(id)
        transfer.tick()
        #expect(transfer.deadline == minute)
        transfer.now = minute - 1
        transfer.tick()
        #expect(transfer.deadline == minute)
        transfer.now = minute
        transfer.tick()
        #expect(transfer.deadline == 2 * minute)
    }

    @Test func `the read access of a peer is checked at most once per second`() throws {
        let second: UInt64 = 1_000_000_000
        var transfer = try transfer(connections: 1)
        let scopes = try SyncScopes(["cars": "LocalPeerOnly"])
        transfer.open(2, exchange(2, scopes))
        transfer.now = 10 * second
        transfer.sought(Seek(id: ids(0..<1)[0], hops: 3), on: 2)
        #expect(transfer.deadline == 10 * second)
        transfer.tick()
        transfer.sought(Seek(id: ids(1..<2)[0], hops: 3), on: 2)
        #expect(transfer.deadline == 11 * second)
        transfer.now = 11 * second - 1
        transfer.tick()
        #expect(transfer.deadline == 11 * second)
        transfer.now = 11 * second
        transfer.tick()
        #expect(transfer.deadline != 11 * second)
    }

    @Test func `1,024 attachments are sought at a time, and the next one when one has ended`()
        throws
    {
        var transfer = try transfer(connections: 1)
        let ids = try (0..<1_025).map { number in
            let start = [UInt8(number % 256), UInt8(number / 256)]
            return try #require(AttachmentID(bytes: start + [UInt8](repeating: 7, count: 30)))
        }
        for id in ids { transfer.fetch(id) }
        let first = sent(by: &transfer)
        #expect(first[1]?.count == 1_024)
        transfer.cancelFetch(ids[0])
        let later = sent(by: &transfer)
        #expect(
            later == [
                1: [
                    .seek(Seek(id: ids[0].bytes, hops: 0)),
                    .seek(Seek(id: ids[1_024].bytes, hops: SyncLimits.hops)),
                ]
            ])
    }
}
