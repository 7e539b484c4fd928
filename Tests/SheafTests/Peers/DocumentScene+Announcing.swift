import Sheaf
import SheafStatements
import SheafSync
import Testing

extension DocumentScene {
    /// Creates a scene in which peer 0 announces a deleted car to peer 1.
    ///
    /// Peer 0 has inserted `car`, whose id is a, and has lost its tombstone. Peer 3 then runs
    /// `change` and sends the car to peer 0, which only announces documents to peer 1, because peer
    /// 1 got another one through peer 2 first.
    static func announcing(_ car: String, after change: DQL? = nil) throws -> DocumentScene {
        let scene = try DocumentScene(4)
        let (source, reader, other, old) = (0, 1, 2, 3)
        for number in 0..<4 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        let early = try scene.connect(source, old)
        try scene.execute(source, DQL(verbatim: "INSERT INTO cars DOCUMENTS (\(car))"))
        try scene.run()
        try scene.disconnect(early)
        if let change { try scene.execute(old, change) }
        let side = try scene.connect(source, other)
        try scene.connect(other, reader)
        try scene.run()
        let direct = try scene.connect(source, reader)
        try scene.run()
        // The reader gets the next document from the other peer first.
        scene.hold(direct, to: reader)
        try scene.execute(source, "INSERT INTO cars DOCUMENTS ({'_id': 'b'})")
        try scene.run()
        try scene.letGo(direct, to: reader)
        #expect(scene.nodes[reader].sent.contains(.announceOnly))
        try scene.execute(source, "DELETE FROM cars WHERE _id = 'a'")
        try scene.run()
        try scene.disconnect(side)
        try scene.forget(source, "a")
        try scene.run()
        let announced = scene.nodes[source].sent.count { $0 == .announce }
        try scene.connect(source, old)
        try scene.run()
        #expect(scene.nodes[source].sent.count { $0 == .announce } > announced)
        return scene
    }
}
