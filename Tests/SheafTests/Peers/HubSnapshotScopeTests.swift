import Sheaf
import SheafDocument
import SheafHub
import SheafHubLog
import SheafMesh
import SheafStatements
import Testing

/// Snapshots of hubs that have documents of collections that are not shared.
@Suite struct HubSnapshotScopeTests {
    @Test func `documents that are not shared are in no snapshot, and stay there`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene(3)
        for number in 0..<3 {
            try scene.execute(
                number, "ALTER SYSTEM SET user_collection_sync_scopes = {'notes': 'LocalPeerOnly'}")
            try scene.subscribe(number, ["SELECT * FROM cars"])
            try scene.execute(
                number,
                DQL(verbatim: "INSERT INTO notes DOCUMENTS ({'_id': 'note \(number)'})"))
        }
        var hubs = try scene.beginHubs(log, [0, 1])
        for id in 0..<5 {
            try scene.execute(0, DQL(verbatim: "INSERT INTO cars DOCUMENTS ({'_id': 'car \(id)'})"))
        }
        try scene.run(seconds: 10, &hubs)
        #expect(try scene.configuration?.snapshots.first?.newest != nil)
        scene.hubs.append(2)
        var third = scene.maintenance(2)
        let events = try third.step()
        #expect(events.contains { if case .shared(_, 5) = $0 { true } else { false } })
        hubs.append(third)
        try scene.run(seconds: 10, &hubs)
        for number in 0..<3 {
            #expect(
                try scene.rows(number, "SELECT _id FROM notes") == ["{\"_id\":\"note \(number)\"}"])
            #expect(try scene.rows(number, "SELECT COUNT(*) AS n FROM cars") == ["{\"n\":5}"])
        }
    }
}
