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
    private func transfer(connections count: UInt8) throws -> AttachmentTransfer {
        let simulation = try IndexSimulation(seed: 1, FakeClock())
        var transfer = AttachmentTransfer(
            AttachmentStore(in: MemoryVolume()), simulation.engine, quota: 1 << 20,
            simulation.engine.snapshot())
        for number in 1...count { transfer.open(UInt64(number), exchange(number)) }
        return transfer
    }

    private func exchange(_ number: UInt8) -> AttachmentExchange {
        AttachmentExchange(
            key: [number], site: .initial,
            PeerAccess(nil, own: nil, SyncScopes(), until: EvaluationStop()))
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
}
