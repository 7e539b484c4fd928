import BenchStores
import SheafDocument

/// An endless list of cars for sale, as JSON of ten fields and about 250 bytes, and as documents.
enum Cars {
    /// The name dictionary of the texts.
    static let names: NameTable = {
        let all = [
            "make", "model", "year", "color", "mileage", "price", "sold", "owner", "name", "city",
            "tags", "description",
        ]
        guard let table = NameTable(all) else { preconditionFailure("No name is repeated.") }
        return table
    }()

    /// The site that inserts documents.
    static let site = Site(rawValue: 0x9E37_79B9_7F4A_7C15)
    /// Another site, which edits documents.
    static let otherSite = Site(rawValue: 0xBF58_476D_1CE4_E5B9)

    private static let start: UInt64 = 1_700_000_000_000

    /// Returns the stamp of a car's insertion.
    static func insertion(_ index: UInt64) -> Stamp {
        Stamp(HybridTime(milliseconds: start + index), site)
    }

    /// Returns the stamp of a later edit.
    static func edit(_ index: UInt64, by site: Site) -> Stamp {
        Stamp(HybridTime(milliseconds: start + 86_400_000 + index), site)
    }

    /// Returns the ID of a car.
    static func id(_ index: UInt64) -> String {
        "car-" + String(Entries.mix(index &+ 1), radix: 16)
    }

    /// Returns a car as JSON, without its ID.
    static func text(_ index: UInt64) -> String {
        var random = Entries.mix(index)
        func draw(_ count: Int) -> Int {
            defer { random = Entries.mix(random) }
            return Int(random % UInt64(count))
        }
        let (make, models) = makes[draw(makes.count)]
        return """
            {"make":"\(make)","model":"\(models[draw(models.count)])","year":\(1990 + draw(35)),\
            "color":"\(colors[draw(colors.count)])","mileage":\(draw(200_000)),\
            "price":\(Double(50_000 + draw(5_000_000)) / 100),"sold":\(draw(4) == 0),\
            "owner":{"name":"\(owners[draw(owners.count)])","city":"\(cities[draw(cities.count)])"},\
            "tags":["\(tags[draw(tags.count)])","\(tags[draw(tags.count)])"],\
            "description":"\(phrases[draw(phrases.count)]), \(phrases[draw(phrases.count)])"}
            """
    }

    /// Returns the encoded state of an inserted document.
    static func document(_ text: [UInt8], _ index: UInt64) throws -> [UInt8] {
        guard case .object(let car) = try Value(jsonBytes: text) else {
            preconditionFailure("A car is an object.")
        }
        return try Insertion.document(car, at: insertion(index), names)
    }

    private static let makes = [
        ("Hyundai", ["i10", "i30 Kombi", "Kona Electric"]), ("Toyota", ["Corolla", "Yaris 1.5"]),
        ("Ford", ["Focus Turnier", "Fiesta", "Transit Custom"]),
        ("Honda", ["Civic Type R", "Jazz"]),
        ("Volkswagen", ["Golf Variant", "Polo", "ID.3 Pro"]),
        ("Škoda", ["Octavia Combi", "Fabia"]),
    ]
    private static let colors = [
        "red", "blue", "black", "white", "green", "silver", "yellow", "grey",
    ]
    private static let owners = [
        "Ada Byron", "John Larson", "Åsa Öberg", "Grace M. Hopper", "Linus \\\"T\\\" Berg",
    ]
    private static let cities = ["Amsterdam", "Oslo", "San Francisco", "São Paulo", "Wien"]
    private static let tags = ["used", "city", "winter tires", "imported", "family", "electric"]
    private static let phrases = [
        "second hand, 2019", "all services done", "a scratch on one door",
        "nobody ever smoked in it", "ready to be picked up",
    ]
}
