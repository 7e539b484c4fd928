/// The reference of the query language: the source of its pages and of `sheaf help`.
package enum Reference {
    /// Statements that create the documents of the examples.
    package static let samples = [
        """
        INSERT INTO cars DOCUMENTS
          ({ '_id': 'a', 'color': 'blue', 'mileage': 3000, 'owner': 'ann', 'tags': ['new', 'fast'] }),
          ({ '_id': 'b', 'color': 'red', 'mileage': 52000, 'owner': 'bob', 'tags': [] }),
          ({ '_id': 'c', 'color': 'blue', 'mileage': 800, 'owner': null })
        """,
        """
        INSERT INTO owners DOCUMENTS
          ({ '_id': 'ann', 'name': 'Ann', 'city': 'Berlin' }),
          ({ '_id': 'bob', 'name': 'Bob', 'city': 'Oslo' })
        """,
        "CREATE INDEX by_color ON cars (color)",
    ]
}
