import Sheaf
import SheafAttachments
import SheafDocument
import SheafEngine
import SheafQuery
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafSystem
import SheafTestSupport
import Testing

import class SheafSystem.EvaluationStop

/// Peers that confirm tokens, are silent, or exceed their quota of attachments.
struct AttachmentTrustTests {
    private let file = SampleFile(seed: 5, length: 200_000)

    private func exchange(_ number: UInt8) -> AttachmentExchange {
        AttachmentExchange(
            key: [number], site: .initial,
            PeerAccess(nil, own: nil, SyncScopes(), until: EvaluationStop()))
    }

    /// Removes the effects; returns the number of connections on which tokens were proven.
    private func takeProofs(_ transfer: inout AttachmentTransfer) -> Int {
        defer { transfer.effects = [] }
        return transfer.effects.count { if case .prove = $0 { true } else { false } }
    }

    @Test func `a confirmation proves a token if it was requested from that peer, and once`() throws
    {
        let scene = try FileScene(2)
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try scene.connect(0, 1, rightsOfRight: AttachmentRightsTests.rightsOfAnn)
        try scene.nodes[1].insert("mine", naming: file.id, length: file.bytes.count)
        try scene.recordPublished(1)
        try scene.run()
        let documents = scene.nodes[0].store.queries.documents
        #expect(documents.snapshot().unprovenTokenCount == 1)
        var transfer = AttachmentTransfer(
            scene.nodes[0].attachments, documents, quota: 1 << 20, documents.snapshot())
        let address = DocumentAddress(
            collection: "cars", id: try DocumentID.key(of: .string("mine")))
        let token = TokenAddress(attachment: file.id.bytes, document: address)
        transfer.open(1, exchange(1))
        transfer.confirmed(token, on: 1)
        #expect(takeProofs(&transfer) == 0)
        transfer.requestProof(of: file.id, in: address)
        transfer.open(2, exchange(2))
        transfer.confirmed(token, on: 2)
        #expect(takeProofs(&transfer) == 0)
        transfer.confirmed(token, on: 1)
        #expect(takeProofs(&transfer) == 1)
        transfer.confirmed(token, on: 1)
        #expect(takeProofs(&transfer) == 0)
    }

    @Test func `a peer has twenty seconds from its first request, however long it was idle`()
        throws
    {
        let second: UInt64 = 1_000_000_000
        let simulation = try IndexSimulation(seed: 1, FakeClock())
        var transfer = AttachmentTransfer(
            AttachmentStore(in: MemoryVolume()), simulation.engine, quota: 1 << 20,
            simulation.engine.snapshot())
        for number: UInt8 in 1...2 { transfer.open(UInt64(number), exchange(number)) }
        transfer.now = 100 * second
        transfer.fetch(file.id)
        transfer.tick()
        for number: UInt64 in 1...2 {
            transfer.offered(Offer(id: file.id.bytes, length: file.bytes.count), on: number)
        }
        transfer.requestParts()
        transfer.effects = []
        for (time, isAskedAgain) in [(120 * second - 1, false), (120 * second, true)] {
            transfer.now = time
            transfer.tick()
            transfer.requestParts()
            let isAsked = transfer.effects.contains {
                if case .send(2, .fetch) = $0 { true } else { false }
            }
            #expect(isAsked == isAskedAgain)
        }
    }

    @Test func `a peer that reaches its quota of attachments is logged`() throws {
        var limits = ReplicatorLimits()
        limits.receivedAttachments = 300_000
        let scene = try FileScene(3, limits)
        try scene.subscribe(0, ["SELECT * FROM cars"])
        for number in 1...2 {
            try scene.connect(0, number, rightsOfRight: AttachmentRightsTests.rightsOfAnn)
        }
        func warnings() -> [String] {
            scene.nodes[0].store.messages(.warning).filter { $0.contains("attachment quota") }
        }
        for (number, file) in [file, SampleFile(seed: 6, length: 200_000)].enumerated() {
            #expect(warnings().isEmpty)
            _ = try scene.nodes[1].attachments.add(file.bytes)
            try scene.nodes[1].insert("\(number)", naming: file.id, length: file.bytes.count)
            try scene.recordPublished(1)
            try scene.run()
            try scene.fetch(file.id, by: 2)
            for _ in 0..<4 { try scene.advance(seconds: 2) }
        }
        #expect(scene.nodes[2].complete == [file.id])
        let found = warnings()
        #expect(found.count == 1)
        #expect(found.first?.contains(" peer=") == true)
        #expect(found.first?.hasSuffix(" quota=300000") == true, "\(found)")
    }
}
