/// An endless list of cars for sale, as JSON of ten fields and about 250 bytes.
package enum Cars {
    /// Returns the ID of a car.
    package static func id(_ index: UInt64) -> String {
        "car-" + String(Entries.mix(index &+ 1), radix: 16)
    }

    /// Returns a car as JSON, without its ID.
    package static func text(_ index: UInt64) -> String {
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
