/// The conversion of rows into results.
enum Projection {
    /// The complete document of the only source.
    case document
    /// The rows of all sources, each under its name.
    case rows([(name: String, source: Int)])
    case columns([ProjectedColumn])
}

/// A column of a result.
enum ProjectedColumn {
    case value(name: String, Evaluator)
    /// All fields of a source.
    case all(source: Int)
}
