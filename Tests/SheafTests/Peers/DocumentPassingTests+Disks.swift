import Sheaf
import SheafTestSupport
import Testing

/// What becomes of documents between peers where a disk is not what it was.
extension DocumentPassingTests {
    /// Commits have the numbers again that others had before, and the other side has heard of those.
    @Test func `what was written to an older state of the disk is told`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, [cars])
        try scene.connect(0, 1)
        let backup = scene.nodes[0].volume.copy(identity: 9)
        for id in ["a", "b"] {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS (:car)", ["car": ["_id": .string(id)] as Value])
        }
        try scene.run()
        let heard = scene.nodes[0].newestCommit
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == heard)
        try scene.putBack(0, to: backup)
        for id in ["c", "d", "e"] {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS (:car)", ["car": ["_id": .string(id)] as Value])
        }
        #expect(scene.nodes[0].newestCommit > heard)
        try scene.connect(0, 1)
        try scene.run()
        let rows = try scene.rows(1, all)
        #expect(rows == ["a", "b", "c", "d", "e"].map { #"{"_id":"\#($0)"}"# })
    }
}
