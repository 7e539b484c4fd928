import SheafBytes
package import SheafDocument

/// A row of a result: an encoded document, decoded on access, or a computed object.
package struct ResultItem {
    package enum Content {
        /// An encoded document in bytes that the result keeps alive.
        ///
        /// The record pointer identifies this version of the document; zero if unknown.
        case stored(fields: EncodedObject, id: UnsafeRawBufferPointer, position: UInt64)
        case object(Object)
        case computed(ComputedRows, number: Int)
    }

    package let content: Content

    package init(content: Content) {
        self.content = content
    }
}

extension ResultItem {
    /// Returns the decoded row.
    package func object(_ names: NameTable) throws(StoreError) -> Object {
        switch content {
        case .object(let object): return object
        case .computed(let rows, let number): return rows.object(number)
        case .stored(let fields, let id, let pointer):
            return try Row(fields, id: id, position: pointer).object(
                FieldTypes(isStrict: false), names)
                ?? Object()
        }
    }

    /// Decodes the row as a type, without intermediate values if it is an encoded document.
    ///
    /// Throws `DecodingError`, and `StoreError` for a damaged document.
    package func decode<T: Decodable>(
        _ type: T.Type, _ names: NameTable, _ coding: ValueCoding
    ) throws -> T {
        switch content {
        case .object, .computed:
            return try ValueDecoder(coding: coding).decode(type, from: .object(try object(names)))
        case .stored(let fields, let id, let position):
            do {
                return try DocumentDecoder(names, coding: coding).decode(type, from: fields, id: id)
            } catch let error as Malformed {
                throw StoreError(error, document: position)
            }
        }
    }

    /// Returns the value at a path without decoding the rest of the row, or nil if it is missing.
    package func value(at path: [String], _ names: NameTable) throws(StoreError) -> Value? {
        if case .computed(let rows, let number) = content, let first = path.first {
            return rows.value(number, of: first)?[path: path.dropFirst()]
        }
        guard case .stored(let fields, let id, let pointer) = content, let first = path.first else {
            return try object(names)[path: path]
        }
        guard first != Row.idName else {
            return try Row(fields, id: id, position: pointer).idValue()?[path: path.dropFirst()]
        }
        return try onDocument(at: pointer) { () throws(Malformed) in
            try FieldPath(path, in: names).value(in: fields, names)
        }
    }

    /// Returns the value of a field without decoding the rest of the row, or nil if it is missing.
    package func value(of name: String, _ names: NameTable) throws(StoreError) -> Value? {
        if case .computed(let rows, let number) = content { return rows.value(number, of: name) }
        guard case .stored(let fields, let id, let pointer) = content else {
            return try object(names)[name]
        }
        guard name != Row.idName else {
            return try Row(fields, id: id, position: pointer).idValue()
        }
        return try onDocument(at: pointer) { () throws(Malformed) in
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
