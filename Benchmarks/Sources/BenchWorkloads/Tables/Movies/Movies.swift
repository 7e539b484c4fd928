extension TableWorkload {
    /// A movie database: films, people, their roles, and ratings.
    static let movies = TableWorkload(
        "movies", "a movie database of 20,000 films, 30,000 people and 100,000 roles",
        queries: MovieQueries.all
    ) { MovieTables.tables(isQuick: $0) }
}

/// The queries of a movie database.
enum MovieQueries {
    static let all = lookups + searches + groups

    private static let lookups = [
        TableQuery(
            "film", "SELECT title, year, minutes FROM films WHERE _id = :film",
            ["film": .column("_id", of: "films")]),
        TableQuery(
            "film-with-rating",
            """
            SELECT f.title, f.year, r.score, r.votes FROM films f \
            LEFT JOIN ratings r ON r._id = f._id WHERE f._id = :film
            """, ["film": .column("_id", of: "films")]),
        TableQuery(
            "cast-of-film",
            """
            SELECT p.name, r.job, r.played FROM roles r JOIN people p ON p._id = r.person \
            WHERE r._id.film = :film
            """, ["film": .column("_id", of: "films")]),
        TableQuery(
            "genres-of-film", "SELECT _id.genre FROM genres WHERE _id.film = :film",
            ["film": .column("_id", of: "films")]),
        TableQuery(
            "films-of-person",
            """
            SELECT f.title, f.year, r.job FROM roles r JOIN films f ON f._id = r._id.film \
            WHERE r.person = :person ORDER BY f.year, f.title
            """, ["person": .column("person", of: "roles")]),
        TableQuery(
            "person-by-name", "SELECT _id, born FROM people WHERE name = :name",
            ["name": .column("name", of: "people")]),
        TableQuery(
            "colleagues",
            """
            SELECT DISTINCT p.name FROM roles a JOIN roles b ON b._id.film = a._id.film \
            JOIN people p ON p._id = b.person WHERE a.person = :person AND b.person != :person
            """, ["person": .column("person", of: "roles")]),
        TableQuery(
            "films-by-director",
            """
            SELECT f.title, t.score FROM roles r JOIN films f ON f._id = r._id.film \
            LEFT JOIN ratings t ON t._id = f._id \
            WHERE r.job = 'director' AND r.person = :person
            """, ["person": .column("person", of: "roles")]),
    ]

    private static let searches = [
        TableQuery(
            "title-prefix",
            """
            SELECT _id, title FROM films WHERE title LIKE 'The Winter of%' ORDER BY title LIMIT 20
            """),
        TableQuery(
            "title-contains",
            "SELECT _id, title, year FROM films WHERE title LIKE '%Harbor 1%' ORDER BY year, _id"),
        TableQuery(
            "title-contains-with-rating",
            """
            SELECT f.title, r.score FROM films f JOIN ratings r ON r._id = f._id \
            WHERE f.title LIKE '%Silence%' AND r.score >= 90
            """),
        TableQuery(
            "people-prefix",
            "SELECT _id, name FROM people WHERE name LIKE 'Kowalski, R%' ORDER BY name LIMIT 50"),
        TableQuery(
            "films-of-year",
            "SELECT _id, title FROM films WHERE year = :year", ["year": .integer(1930...2024)]),
        TableQuery(
            "films-of-genre-and-year",
            """
            SELECT f.title FROM films f JOIN genres g ON g._id.film = f._id \
            WHERE f.year = :year AND g._id.genre = :genre
            """, ["year": .integer(1930...2024), "genre": .text(MovieTables.genres)]),
        TableQuery(
            "best-of-genre",
            """
            SELECT f.title, r.score, r.votes FROM genres g JOIN films f ON f._id = g._id.film \
            JOIN ratings r ON r._id = f._id WHERE g._id.genre = :genre \
            ORDER BY r.score DESC, r.votes DESC, f._id LIMIT 10
            """, sets: 2, ["genre": .text(MovieTables.genres)]),
        TableQuery(
            "most-voted",
            """
            SELECT f.title, r.votes FROM ratings r JOIN films f ON f._id = r._id \
            ORDER BY r.votes DESC LIMIT 20
            """),
        TableQuery(
            "best-of-decade",
            """
            SELECT f.title, r.score FROM films f JOIN ratings r ON r._id = f._id \
            WHERE f.year BETWEEN 1990 AND 1999 AND r.votes > 100000 \
            ORDER BY r.score DESC, f._id LIMIT 10
            """),
        TableQuery(
            "without-rating",
            """
            SELECT f._id, f.title FROM films f LEFT JOIN ratings r ON r._id = f._id \
            WHERE r.score IS MISSING AND f.year >= 2020
            """),
        TableQuery(
            "without-length", "SELECT _id, title FROM films WHERE minutes IS MISSING"),
        TableQuery(
            "people-without-role",
            """
            SELECT p._id, p.name FROM people p LEFT JOIN roles r ON r.person = p._id \
            WHERE p.born = :born AND r.job IS MISSING
            """, ["born": .integer(1880...1999)]),
    ]

    private static let groups = [
        TableQuery(
            "films-by-year", "SELECT year, COUNT(*) AS n FROM films GROUP BY year ORDER BY year"),
        TableQuery(
            "films-by-genre",
            "SELECT _id.genre, COUNT(*) AS n FROM genres GROUP BY _id.genre ORDER BY n DESC"),
        TableQuery(
            "score-by-genre",
            """
            SELECT g._id.genre, AVG(r.score) AS score FROM genres g \
            JOIN ratings r ON r._id = g._id.film GROUP BY g._id.genre
            """),
        TableQuery(
            "score-by-year",
            """
            SELECT f.year, AVG(r.score) AS score, SUM(r.votes) AS votes FROM films f \
            JOIN ratings r ON r._id = f._id GROUP BY f.year
            """),
        TableQuery(
            "busiest-actors",
            """
            SELECT p.name, COUNT(*) AS n FROM roles r JOIN people p ON p._id = r.person \
            WHERE r.job = 'actor' GROUP BY p.name ORDER BY n DESC, p.name LIMIT 10
            """),
        TableQuery(
            "best-directors",
            """
            SELECT r.person, COUNT(*) AS n, AVG(t.score) AS score FROM roles r \
            JOIN ratings t ON t._id = r._id.film WHERE r.job = 'director' GROUP BY r.person \
            HAVING COUNT(*) >= 5 ORDER BY score DESC, r.person LIMIT 10
            """),
        TableQuery(
            "directors-who-act",
            """
            SELECT a.person, COUNT(*) AS n FROM roles a JOIN roles b ON b._id.film = a._id.film \
            WHERE a.job = 'director' AND b.job = 'actor' AND b.person = a.person GROUP BY a.person
            """),
        TableQuery(
            "languages-of-genre",
            """
            SELECT f.language, COUNT(*) AS n FROM genres g JOIN films f ON f._id = g._id.film \
            WHERE g._id.genre = :genre GROUP BY f.language
            """, sets: 2, ["genre": .text(MovieTables.genres)]),
        TableQuery(
            "characters",
            "SELECT played, COUNT(*) AS n FROM roles WHERE job = 'actor' GROUP BY played"),
    ]
}
