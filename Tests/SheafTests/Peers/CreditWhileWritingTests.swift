import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync
import SheafTestSupport
import Testing

/// The credit for segments that a peer returns.
struct CreditWhileWritingTests {
    /// Texts that are longer than a step of credit together, also compressed.
    private func cars() -> Value {
        var random = SeededRandom(seed: 1, "texts")
        return .array(
            (0..<10).map { number in
                let letters = random.bytes(20_000).map { 97 + $0 % 26 }
                let text = String(decoding: letters, as: UTF8.self)
                return ["_id": .integer(Int64(number)), "text": .string(text)]
            })
    }

    /// Otherwise a peer that writes slowly would receive a long batch at any rate.
    @Test(arguments: [false, true])
    func `a peer returns no credit within a long batch while it writes the one before`(
        _ isBusy: Bool
    ) throws {
        var limits = ReplicatorLimits()
        limits.part = 15_000
        let scene = try DocumentScene(2, limits)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.connect(0, 1)
        try scene.run()
        scene.nodes[1].isBusy = isBusy
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'first'})")
        try scene.run()
        let sent = scene.nodes[1].sent.count
        try scene.execute(0, "INSERT INTO cars DOCUMENTS (:cars)", ["cars": cars()])
        try scene.run()
        #expect(scene.nodes[0].segmentLength > 150_000)
        #expect(scene.nodes[1].sent[sent...].contains(.credit) == !isBusy)
        scene.nodes[1].isBusy = false
        try scene.run()
        #expect(scene.nodes[1].sent[sent...].contains(.credit))
        #expect(try scene.rows(1, "SELECT _id FROM cars").count == 11)
    }
}
