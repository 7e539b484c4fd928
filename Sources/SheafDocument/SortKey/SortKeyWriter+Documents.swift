package import SheafBytes

extension SortKeyWriter {
    /// Appends the visible value at a path of a document; a missing value if there is none.
    package mutating func append(
        valueAt path: [FieldName], of document: EncodedDocument, descending: Bool,
        _ names: NameTable
    ) throws(Malformed) {
        if path.count == 1, let entry = try document.fields()?.find(path[0]),
            try append(plain: entry, descending: descending)
        {
            return
        }
        append(try document.value(at: path, names), descending: descending)
    }
}
