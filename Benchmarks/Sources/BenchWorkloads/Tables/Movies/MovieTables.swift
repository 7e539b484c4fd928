import SheafDocument

/// The tables of a movie database.
enum MovieTables {
    static let genres = [
        "Action", "Animation", "Comedy", "Crime", "Documentary", "Drama", "Family", "Fantasy",
        "Horror", "Music", "Romance", "Science Fiction", "Thriller", "War", "Western",
    ]

    /// Returns the tables, with a fifth of the rows if the run is quick.
    static func tables(isQuick: Bool) -> [FlatTable] {
        var random = RandomSource(seed: 14)
        let (films, people) = isQuick ? (4_000, 6_000) : (20_000, 30_000)
        return [
            makeFilms(films, &random), makeGenres(films, &random), makePeople(people, &random),
            makeRoles(films, people, &random), makeRatings(films, &random),
        ]
    }

    private static func makeFilms(_ count: Int, _ random: inout RandomSource) -> FlatTable {
        var table = FlatTable(
            "films", integers: ["_id", "year", "minutes"], texts: ["title", "language"],
            indexes: [["year"], ["title"], ["language"]])
        for id in 0..<count {
            let first = Words.titles[random.below(Words.titles.count)]
            let second = Words.titles[random.below(Words.titles.count)]
            table.append(
                .integer(Int64(id)), .integer(Int64(1930 + random.below(95))),
                random.below(20) == 0 ? .null : .integer(Int64(60 + random.below(120))),
                .string("The \(first) of the \(second) \(id)"),
                .string(Words.countries[random.below(Words.countries.count)]))
        }
        return table
    }

    private static func makeGenres(_ films: Int, _ random: inout RandomSource) -> FlatTable {
        var table = FlatTable(
            "genres", key: ["film", "genre"], integers: ["film"], texts: ["genre"],
            indexes: [["genre"]])
        for film in 0..<films {
            let first = random.below(genres.count)
            for number in 0...random.below(3) {
                table.append(
                    .integer(Int64(film)), .string(genres[(first + number * 4) % genres.count]))
            }
        }
        return table
    }

    private static func makePeople(_ count: Int, _ random: inout RandomSource) -> FlatTable {
        var table = FlatTable(
            "people", integers: ["_id", "born", "died"], texts: ["name"],
            indexes: [["name"], ["born"]])
        for id in 0..<count {
            let born = 1880 + random.below(120)
            let first = Words.firstNames[random.below(Words.firstNames.count)]
            let last = Words.lastNames[random.below(Words.lastNames.count)]
            table.append(
                .integer(Int64(id)), .integer(Int64(born)),
                random.below(3) == 0 ? .integer(Int64(born + 40 + random.below(50))) : .null,
                .string("\(last), \(first) \(id)"))
        }
        return table
    }

    /// Five people for each film: a director, a writer, and actors; a few people play often.
    private static func makeRoles(
        _ films: Int, _ people: Int, _ random: inout RandomSource
    ) -> FlatTable {
        var table = FlatTable(
            "roles", key: ["film", "number"], integers: ["film", "number", "person"],
            texts: ["job", "played"], indexes: [["person"], ["job", "person"]])
        for film in 0..<films {
            for number in 0..<5 {
                let person = random.below(1 + random.below(people))
                let job = number == 0 ? "director" : number == 1 ? "writer" : "actor"
                let played: Value =
                    number < 2
                    ? .null : .string(Words.firstNames[random.below(Words.firstNames.count)])
                table.append(
                    .integer(Int64(film)), .integer(Int64(number)), .integer(Int64(person)),
                    .string(job), played)
            }
        }
        return table
    }

    /// Ratings from 10 to 100 of nine films in ten.
    private static func makeRatings(_ films: Int, _ random: inout RandomSource) -> FlatTable {
        var table = FlatTable(
            "ratings", integers: ["_id", "score", "votes"], indexes: [["score"], ["votes"]])
        for film in 0..<films where film % 10 != 9 {
            table.append(
                .integer(Int64(film)), .integer(Int64(10 + random.below(91))),
                .integer(Int64(5 + random.below(1 + random.below(1_000_000)))))
        }
        return table
    }
}
