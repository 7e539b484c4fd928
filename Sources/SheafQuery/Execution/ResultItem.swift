import SheafBytes
package import SheafDocument

/// A row of a result: a document that is decoded when somebody asks, or what was computed.
package struct ResultItem {
    package enum Content {
        /// In bytes that somebody keeps alive as long as the result.
        ///
        /// Its place tells it from all other documents of the store, and from what it was and will be;
        /// zero where that is not known.
        case stored(fields: EncodedObject, id: UnsafeRawBufferPointer, place: UInt64)
        case object(Object)
    }

    package let content: Content

    package init(content: Content) {
        self.content = content
    }
}

extension ResultItem {
    /// The value at a path, without decoding the rest of the row; none where it is missing.
    package func value(at path: [String], _ names: NameTable) throws(QueryError) -> Value? {
        guard case .stored(let fields, let id, let place) = content, let first = path.first else {
            return try object(names)[path: path]
        }
        guard first != Row.idName else {
            return try Row(fields, id: id, place: place).idValue()?[path: path.dropFirst()]
        }
        return try onDocument(at: place) { () throws(Malformed) in
            try FieldPath(path, in: names).value(in: fields, names)
        }
    }

    /// The value of a field, without decoding the rest of the row; none where it is missing.
    package func value(of name: String, _ names: NameTable) throws(QueryError) -> Value? {
        guard case .stored(let fields, let id, let place) = content else {
            return try object(names)[name]
        }
        guard name != Row.idName else { return try Row(fields, id: id, place: place).idValue() }
        return try onDocument(at: place) { () throws(Malformed) in
            try fields.value(of: name, names)
        }
    }
}

extension Value {
    fileprivate subscript(path names: some Sequence<String>) -> Value? {
        var value = self
        for name in names {
            guard case .object(let object) = value, let next = object[name] else { return nil }
            value = next
        }
        return value
    }
}

extension Object {
    fileprivate subscript(path names: [String]) -> Value? { Value.object(self)[path: names] }
}
