import SheafDocument
import SheafInspector
import SheafStatements
import SheafStore
import Testing

@Suite struct InspectorStatementTests {
    @Test func `a statement returns its rows, columns and commit`() async throws {
        let fixture = try await InspectorFixture()
        try await fixture.store.execute(
            "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'speed': 5}), ({'_id': 'b', 'speed': 7})")
        let (status, answer) = try fixture.query(
            "SELECT speed FROM cars WHERE speed > :least", ["arguments": ["least": 5]])
        #expect(status == 200)
        #expect(answer["rows"] == [["speed": 7]])
        #expect(answer["columns"] == ["speed"])
        #expect(answer["isTruncated"] == false)
        #expect(answer["commit"] == 1)
        await fixture.inspector.stop()
    }
}
