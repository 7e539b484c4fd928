import Sheaf
import SheafSync
import Testing

/// What peers may see and write whose rights are limited.
struct RightsTests {
    /// Peers of which the right one has rights on the left one, and wants all cars; the left one too.
    private func scene(_ rights: PeerRights) throws -> FileScene {
        let scene = try FileScene(2)
        for number in 0..<2 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        try scene.connect(0, 1, rightsOfRight: rights)
        try scene.run()
        return scene
    }

    private func ids(_ scene: FileScene, _ number: Int) throws -> [String] {
        try scene.nodes[number].rows("SELECT _id FROM cars ORDER BY _id")
    }

    @Test(arguments: [
        ["_id = 'a'"], ["'a' = _id"], ["_id = 'a' AND true"], ["_id IN ('a')"], ["owner = 'a'"],
    ])
    func `a rule lets somebody see what it names, and nothing else`(_ rule: [String]) throws {
        let scene = try scene(PeerRights(read: ["cars": rule[0]], write: [:]))
        for id in ["a", "b"] {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS (:car)",
                ["car": ["_id": .string(id), "owner": .string(id)] as Value])
        }
        try scene.run()
        let seen = try ids(scene, 1)
        #expect(seen == [#"{"_id":"a"}"#])
    }

    @Test(arguments: ["_id = 'a'", "owner = 'a'"])
    func `a rule lets somebody write what it names, and nothing else`(_ rule: String) throws {
        let scene = try scene(PeerRights(read: ["cars": "true"], write: ["cars": rule]))
        for (number, id) in ["a", "b"].enumerated() {
            try scene.execute(
                1, "INSERT INTO cars DOCUMENTS (:car)",
                ["car": ["_id": .string(id), "owner": .string(id)] as Value])
            try scene.run()
            let seen = try ids(scene, 0)
            #expect(seen == [#"{"_id":"a"}"#])
            // Who writes what he may not is not talked to any more.
            #expect(scene.isConnected == (number == 0))
        }
    }
}
