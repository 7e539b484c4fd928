import Sheaf
import SheafDocument
import SheafStatements

/// The sample data of the scratch store.
enum SampleData {
    /// Statements suggested to new users.
    static let suggestions = [
        "SELECT make, color, mileage FROM cars WHERE mileage < 30000 ORDER BY mileage;",
        "SELECT color, COUNT(*) AS cars, AVG(mileage) AS average FROM cars GROUP BY color;",
    ]

    /// Creates a store in memory with the collections `cars`, `owners` and `trips`.
    static func store() throws(ToolError) -> Store {
        try waitFor {
            let store = try await Store.inMemory()
            for (statement, documents) in [
                ("INSERT INTO cars DOCUMENTS (:documents)", cars),
                ("INSERT INTO owners DOCUMENTS (:documents)", owners),
                ("INSERT INTO trips DOCUMENTS (:documents)", trips),
            ] {
                try await store.execute(
                    DQL(verbatim: statement),
                    QueryArguments([
                        "documents": .array(documents.map(Value.object))
                    ]))
            }
            try await store.execute("CREATE INDEX trips_by_car ON trips (car)")
            return store
        }
    }

    private static let makes = ["Volvo", "Fiat", "Tesla", "Ford", "Mazda", "Citroën"]
    private static let colors = ["blue", "red", "green", "white"]
    private static let people = ["ann", "bob", "cai", "dee", "eve", "fay"]
    private static let cities = ["Oslo", "Berlin", "Lisbon", "Tallinn"]

    private static var owners: [Object] {
        people.enumerated().map { index, name in
            [
                "_id": .string(name),
                "name": .string(name.prefix(1).uppercased() + name.dropFirst()),
                "city": .string(cities[index % cities.count]),
                "languages": .array(index % 2 == 0 ? ["en", "no"] : ["en"]),
            ]
        }
    }

    private static var cars: [Object] {
        (0..<24).map { index in
            var car: Object = [
                "_id": .string("car-\(index + 1)"),
                "make": .string(makes[index % makes.count]),
                "color": .string(colors[(index * 7) % colors.count]),
                "year": .integer(Int64(2010 + (index * 5) % 15)),
                "mileage": .integer(Int64((index * 7_919) % 120_000)),
                "electric": .bool(index % 3 == 2),
                "place": .object([
                    "city": .string(cities[(index / 2) % cities.count]),
                    "parked": .bool(index % 4 != 0),
                ]),
            ]
            if index % 4 != 3 {
                car["owner"] = .string(people[index % people.count])
            }
            return car
        }
    }

    private static var trips: [Object] {
        (0..<120).map { index in
            [
                "_id": .integer(Int64(index + 1)),
                "car": .string("car-\(index * 11 % 24 + 1)"),
                "kilometers": .float(Double(index * 37 % 400) + 0.5),
                "purpose": .string(["work", "holiday", "shopping"][index % 3]),
            ]
        }
    }
}
