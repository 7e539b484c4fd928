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

/// Tests of the parts of attachments that a peer requests and serves, without sessions.
struct AttachmentServingTests {
    private typealias Message = AttachmentTransfer.Message

    /// Returns a transfer with open connections 1 to `count`.
    private func transfer(
        connections count: UInt8, _ store: AttachmentStore
    ) throws -> AttachmentTransfer {
        let simulation = try IndexSimulation(seed: 1, FakeClock())
        var transfer = AttachmentTransfer(
            store, simulation.engine, quota: 1 << 20, simulation.engine.snapshot())
        for number in 1...count {
            transfer.open(
                UInt64(number),
                AttachmentExchange(
                    key: [number], site: .initial,
                    PeerAccess(nil, own: nil, SyncScopes(), until: EvaluationStop())))
        }
        return transfer
    }

    /// Removes the effects, and returns the sent messages by connection.
    private func sent(by transfer: inout AttachmentTransfer) -> [UInt64: [Message]] {
        defer { transfer.effects = [] }
        return transfer.effects.reduce(into: [:]) { found, effect in
            guard case .send(let number, let message) = effect else { return }
            found[number, default: []].append(message)
        }
    }

    /// Returns the updates of the fetches of this peer as texts.
    private func updates(of transfer: AttachmentTransfer) -> [String] {
        transfer.effects.compactMap { effect in
            guard case .fetched(_, let update) = effect else { return nil }
            switch update {
            case .progress(let received, let length): return "\(received) of \(length)"
            case .complete(let length): return "all \(length)"
            case .failed: return "failed"
            }
        }
    }

    // MARK: Serving

    @Test func `parts are served to peers in turns`() throws {
        let file = SampleFile(seed: 6, length: 530_000)
        let store = AttachmentStore(in: MemoryVolume())
        _ = try store.add(file.bytes)
        var transfer = try transfer(connections: 3, store)
        let offer = Message.offer(Offer(id: file.id.bytes, length: 530_000))
        for number: UInt64 in 1...3 {
            transfer.sought(Seek(id: file.id.bytes, hops: 1), on: number)
        }
        // A repeated request has no other offer.
        transfer.sought(Seek(id: file.id.bytes, hops: 2), on: 1)
        let offers = sent(by: &transfer)
        #expect(offers == [1: [offer], 2: [offer], 3: [offer]])
        var served: [UInt64] = []
        for waiting in [[1, 2, 3], [1, 2, 3], [1, 3], [1, 2, 3], [2], [2, 3], [1, 2]] {
            transfer.serveNext(
                waiting.map { number in
                    (
                        number: UInt64(number),
                        part: AttachmentPart(id: file.id.bytes, .chunk, 0)
                    )
                })
            let messages = sent(by: &transfer)
            #expect(messages.values.allSatisfy { $0 == [.serve(file.chunk(0))] })
            served += messages.keys
        }
        #expect(served == [1, 2, 3, 1, 2, 3, 1])
        transfer.serveNext([])
        #expect(transfer.effects.isEmpty)
    }

    @Test func `a peer is served the parts of attachments that it was offered, and no others`()
        throws
    {
        let file = SampleFile(seed: 6, length: 530_000)
        let (id, store) = (file.id.bytes, AttachmentStore(in: MemoryVolume()))
        _ = try store.add(file.bytes)
        var transfer = try transfer(connections: 2, store)
        func served(_ part: AttachmentPart, to number: UInt64) -> [Message] {
            transfer.serveNext([(number: number, part: part)])
            return sent(by: &transfer)[number] ?? []
        }
        let nothing: [Message] = [.serve(nil)]
        let chunk = AttachmentPart(id: id, .chunk, 2)
        #expect(served(chunk, to: 1) == nothing)
        transfer.sought(Seek(id: id, hops: 1), on: 1)
        _ = sent(by: &transfer)
        #expect(served(chunk, to: 1) == [.serve(file.chunk(2))])
        #expect(served(AttachmentPart(id: id, .chunk, 3), to: 1) == nothing)
        #expect(served(AttachmentPart(id: id, .hashes, 0), to: 1) == [.serve(file.list.hashes)])
        #expect(served(AttachmentPart(id: id, .hashes, 1), to: 1) == nothing)
        #expect(served(AttachmentPart(id: [1], .hashes, 0), to: 1) == nothing)
        #expect(served(chunk, to: 2) == nothing)
        transfer.sought(Seek(id: id, hops: 0), on: 1)
        #expect(served(chunk, to: 1) == nothing)
    }

    // MARK: Requesting

    @Test func `each of two peers is asked for four parts at a time, and each part once`() throws {
        let file = SampleFile([UInt8](repeating: 3, count: 6 << 18))
        let id = file.id.bytes
        var transfer = try transfer(connections: 2, AttachmentStore(in: MemoryVolume()))
        transfer.fetch(file.id)
        for number: UInt64 in 1...2 {
            transfer.offered(Offer(id: id, length: file.bytes.count), on: number)
        }
        func requested() -> [UInt64: [Message]] {
            transfer.requestParts()
            return sent(by: &transfer)
        }
        _ = sent(by: &transfer)
        let hashes = AttachmentPart(id: id, .hashes, 0)
        #expect(requested() == [1: [.fetch(hashes)]])
        transfer.fetched(hashes, file.list.hashes, on: 1)
        #expect(updates(of: transfer) == ["0 of 1572864"])
        let chunks = (0..<6).map { AttachmentPart(id: id, .chunk, $0) }
        let requests = chunks.map { Message.fetch($0) }
        #expect(requested() == [1: Array(requests[0..<4]), 2: Array(requests[4..<6])])
        transfer.fetched(chunks[0], file.chunk(0), on: 1)
        transfer.fetched(chunks[0], file.chunk(0), on: 1)
        #expect(updates(of: transfer) == ["262144 of 1572864", "262144 of 1572864"])
        #expect(requested().isEmpty)
        // The second peer lacks a part, and is asked for no other one.
        transfer.fetched(chunks[4], nil, on: 2)
        #expect(requested() == [1: [requests[4]]])
        for number in [1, 2, 3, 4] { transfer.fetched(chunks[number], file.chunk(number), on: 1) }
        _ = sent(by: &transfer)
        transfer.fetched(chunks[5], file.chunk(5), on: 2)
        #expect(updates(of: transfer) == ["all 1572864"])
        let cancel = Message.seek(Seek(id: id, hops: 0))
        let cancelled = sent(by: &transfer)
        #expect(cancelled == [1: [cancel], 2: [cancel]])
    }

    /// Offers two gibibytes and one byte, whose hashes have two parts.
    @Test func `all parts of the hashes are requested from one peer`() throws {
        let id = try #require(AttachmentID(bytes: [UInt8](repeating: 7, count: 32)))
        var transfer = try transfer(connections: 2, AttachmentStore(in: MemoryVolume()))
        transfer.fetch(id)
        for number: UInt64 in 1...2 {
            transfer.offered(
                Offer(id: id.bytes, length: 8_192 * ChunkList.chunkLength + 1), on: number)
        }
        _ = sent(by: &transfer)
        let parts = (0..<2).map { AttachmentPart(id: id.bytes, .hashes, $0) }
        let requests = parts.map { Message.fetch($0) }
        transfer.requestParts()
        let first = sent(by: &transfer)
        #expect(first == [1: requests])
        transfer.fetched(parts[0], [UInt8](repeating: 1, count: SyncLimits.partLength), on: 1)
        transfer.requestParts()
        let none = sent(by: &transfer)
        #expect(none.isEmpty)
        // The hashes of the second part do not have the id, either.
        transfer.fetched(parts[1], [UInt8](repeating: 1, count: 32), on: 1)
        transfer.requestParts()
        let second = sent(by: &transfer)
        #expect(second == [2: requests])
        // A part that is not full is wrong if others follow.
        transfer.fetched(parts[0], [UInt8](repeating: 1, count: 64), on: 2)
        transfer.requestParts()
        let third = sent(by: &transfer)
        #expect(third.isEmpty)
    }
}
