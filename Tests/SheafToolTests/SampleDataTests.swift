import Foundation
import Testing

/// The scratch store of the shell.
@Suite struct SampleDataTests {
    private typealias Row = [String: Any]

    private func rows(of collection: String) throws -> [Row] {
        let run = try ToolRun(["-c", "SELECT * FROM \(collection) ORDER BY _id", "--json"])
        #expect(run.status == 0, "\(run.errors)")
        return try run.objects()
    }

    private func texts(_ rows: [Row], _ name: String) -> [String] {
        rows.compactMap { $0[name] as? String }
    }

    @Test func `the owners of the scratch store have their ids as names, and speak English`() throws
    {
        let owners = try rows(of: "owners")
        #expect(texts(owners, "_id") == ["ann", "bob", "cai", "dee", "eve", "fay"])
        #expect(texts(owners, "name") == ["Ann", "Bob", "Cai", "Dee", "Eve", "Fay"])
        #expect(Set(texts(owners, "city")) == ["Oslo", "Berlin", "Lisbon", "Tallinn"])
        let languages = owners.compactMap { $0["languages"] as? [String] }
        #expect(languages.count == 6 && languages.allSatisfy { $0.first == "en" })
        #expect(languages.count { $0 == ["en", "no"] } == 3)
    }

    @Test func `cars of the scratch store have owners that exist, and trips have such cars`() throws
    {
        let cars = try rows(of: "cars")
        let owners = texts(try rows(of: "owners"), "_id")
        let trips = try rows(of: "trips")
        #expect(Set(texts(cars, "_id")) == Set((1...24).map { "car-\($0)" }))
        // A quarter has none, which queries for missing fields find.
        #expect(texts(cars, "owner").count == 18)
        #expect(Set(texts(cars, "owner")).isSubset(of: owners))
        #expect(texts(trips, "car").count == 120)
        #expect(Set(texts(trips, "car")) == Set(texts(cars, "_id")))
        #expect(Set(trips.compactMap { $0["_id"] as? Int }) == Set(1...120))
        for purpose in ["work", "holiday", "shopping"] {
            #expect(texts(trips, "purpose").count { $0 == purpose } == 40, "\(purpose)")
        }
        #expect(cars.count { $0["electric"] as? Bool == true } == 8)
        let years = cars.compactMap { $0["year"] as? Int }
        #expect(years.count == 24 && years.allSatisfy { (2010...2024).contains($0) })
    }
}
