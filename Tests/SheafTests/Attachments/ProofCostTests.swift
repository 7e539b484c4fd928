import Sheaf
import SheafDocument
import SheafQuery
import SheafReplication
import SheafStatements
import SheafSync
import Testing

/// The cost of requests for proofs.
struct ProofCostTests {
    private let file = SampleFile(seed: 3, length: 10)

    /// Creates a replicator with documents of 100,000 bytes each.
    private func scene(cars count: Int) throws -> ReplicatorScene {
        let scene = try ReplicatorScene()
        let text = String(repeating: "t", count: 100_000)
        for number in 0..<count {
            try scene.execute(
                "INSERT INTO cars DOCUMENTS ({'_id': :id, 'text': :text})",
                ["id": Value.integer(Int64(number)), "text": Value.string(text)], at: 1)
        }
        return scene
    }

    private func address(of number: Int) throws -> DocumentAddress {
        DocumentAddress(
            collection: "cars", id: try DocumentID.key(of: .integer(Int64(number))))
    }

    @Test func `a document is read once for each token until it changes`() throws {
        let scene = try scene(cars: 1)
        let peer = scene.connect(1, at: 1)
        let before = scene.replicator.slice.used
        for number in 0..<30 {
            var id = file.id.bytes
            id[0] ^= UInt8(number + 1)
            scene.ask(peer, TokenAddress(attachment: id, document: try address(of: 0)), at: 1)
            scene.settle(at: 1)
        }
        for _ in 0..<20 {
            try scene.execute("INSERT INTO boats DOCUMENTS ({'n': 1})", at: 1)
            scene.settle(at: 1)
        }
        #expect(scene.replicator.slice.used - before < 5_000_000)
        #expect(peer.closeMessage == nil)
        #expect(peer.proofs == 0)
    }

    @Test func `tokens are checked in slices`() throws {
        let scene = try scene(cars: 60)
        let peer = scene.connect(1, at: 1)
        for number in 0..<60 {
            scene.ask(
                peer, TokenAddress(attachment: file.id.bytes, document: try address(of: number)),
                at: 1)
        }
        #expect(scene.replicator.deadline == 1)
        scene.settle(at: 1)
        #expect(scene.replicator.slice.used >= 6_000_000)
        #expect(scene.replicator.slice.longestTurn < 1_200_000)
    }

    @Test func `a token is confirmed after it is proven`() throws {
        let scene = try scene(cars: 1)
        let peer = scene.connect(1, at: 1)
        scene.ask(
            peer, TokenAddress(attachment: file.id.bytes, document: try address(of: 0)), at: 1)
        scene.settle(at: 1)
        #expect(peer.proofs == 0)
        try scene.execute(
            "UPDATE COLLECTION cars (photo ATTACHMENT) SET photo = :token WHERE _id = 0",
            QueryArguments(["token": try file.token.value]), at: 1)
        scene.settle(at: 1)
        #expect(peer.proofs == 1)
    }
}
