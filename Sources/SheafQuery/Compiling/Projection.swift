/// The conversion of rows into results.
enum Projection {
    /// The complete document of the only source.
    case document
    /// The rows of all sources, each under its name.
    case rows([(name: String, source: Int)])
    /// Columns in the order of their names in an object, unless one of them is a whole source.
    ///
    /// `names` has the written order; nil if the names depend on the documents.
    case columns([ProjectedColumn], names: [String]?)
}

/// A column of a result.
enum ProjectedColumn {
    case value(name: String, Evaluator)
    /// All fields of a source.
    case all(source: Int)
}
