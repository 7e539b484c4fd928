import Sheaf
import SheafTestSupport
import Testing

/// The order in which a peer with limited rights learns what another peer has.
struct RefusalOrderTests {
    private let rights = PeerRights(read: ["cars": "true"], write: ["cars": "owner = 'ann'"])

    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func `a commit counts as received only when its refusal is known`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "order of refusals")
        let scene = try DocumentScene(2)
        for number in [0, 1] { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        if Bool.random(using: &random) {
            try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'owner': 'ann'})")
        }
        if Bool.random(using: &random) {
            try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'c', 'owner': 'carl'})")
        }
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'bob'})")
        let commit = scene.nodes[0].newestCommit
        let wire = try scene.connect(0, 1, rightsOfLeft: rights, sendsRights: true)
        for end in [0, 1] { scene.hold(wire, to: end) }
        var idle = 0
        while idle < 8 {
            let first = Int.random(in: 0...1, using: &random)
            let isDelivered =
                try scene.deliverHeld(wire, to: first)
                || scene.deliverHeld(wire, to: 1 - first)
            idle = isDelivered ? 0 : idle + 1
            if idle == 4 { try scene.advance(milliseconds: 1_000) }
            if scene.nodes[0].synced(with: scene.nodes[1]) >= commit {
                #expect(!scene.nodes[0].refused(by: scene.nodes[1]).isEmpty)
            }
        }
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) >= commit)
        #expect(scene.nodes[0].refused(by: scene.nodes[1]).count == 1)
    }
}
