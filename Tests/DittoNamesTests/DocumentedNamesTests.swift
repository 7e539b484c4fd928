// The examples stay as the pages show them.
// swift-format-ignore-file

import DittoNames
import Foundation
import Sheaf
import Testing

/// What the documentation shows of the names of the reference system, run.
struct DocumentedNamesTests {
    @Test func `a location is a map in a store, and a unit under the names of the reference`() async throws {
        let store = try await Store.inMemory()
        let car: Value = [
            "_id": "a", "location": ["coordinates": [-122.0308, 37.3318], "address": "123 Main St"],
            "features": ["trim": "Standard", "speakers": 5],
        ]
        try await store.execute("INSERT INTO cars DOCUMENTS (:car)", ["car": car])
        try await store.execute("UPDATE cars SET location = { 'address': '2147 Chestnut St' }")
        let merged = try await store.execute("SELECT location FROM cars")
        // {"location":{"address":"2147 Chestnut St","coordinates":[-122.0308,37.3318]}}
        try await store.execute(
            """
            UPDATE COLLECTION cars (location REGISTER)
            SET location = { 'coordinates': [-122.2247, 37.7833], 'address': '2147 Chestnut St' }
            """)
        let replaced = try await store.execute("SELECT location FROM COLLECTION cars (location REGISTER)")
        // {"location":{"address":"2147 Chestnut St","coordinates":[-122.2247,37.7833]}}
        let ditto = try await Ditto.inMemory()
        try await ditto.store.execute(
            query: "INSERT INTO COLLECTION cars (features MAP) DOCUMENTS (:car)", arguments: ["car": car])
        try await ditto.store.execute(
            query: "UPDATE cars SET location = { 'address': '2147 Chestnut St' }")
        try await ditto.store.execute(
            query: "UPDATE COLLECTION cars (features MAP) SET features.trim = 'Sport'")
        let result = try await ditto.store.execute(
            query: "SELECT * FROM COLLECTION cars (features MAP) WHERE features.trim = 'Sport'")
        // {"_id":"a","features":{"speakers":5,"trim":"Sport"},"location":{"address":"2147 Chestnut St"}}

        let page = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../Sources/Sheaf/Sheaf.docc/DataTypes.md"), encoding: .utf8)
        let rows = try [merged, replaced].map { try $0.items[0].jsonString } + [result.items[0].jsonString()]
        for row in rows { #expect(page.contains("// \(row)")) }
        try await store.close()
        try await ditto.close()
    }
}
