package import SheafBytes

/// Attachment tokens anywhere in a document.
extension EncodedDocument {
    /// Calls `body` with each token, including hidden ones; for a delta, with those it names.
    ///
    /// Only maps are searched: values contain no tokens, even if they look like one.
    package func forEachToken(
        _ names: NameTable, _ body: (Value) -> Void
    ) throws(Malformed) {
        try root.forEachToken(names, depth: 1, body)
    }

    /// Calls `body` with each string named `id` in a map or in an object value.
    package func forEachPlainID(
        _ names: NameTable, _ body: (String) -> Void
    ) throws(Malformed) {
        try root.forEachPlainID(names, depth: 1, body)
    }

    /// Whether the document has tokens; none of them is decoded.
    package func hasTokens() throws(Malformed) -> Bool {
        try root.hasTokens(depth: 1)
    }
}

extension EncodedEntry {
    fileprivate func forEachToken(
        _ names: NameTable, depth: Int, _ body: (Value) -> Void
    ) throws(Malformed) {
        try forEachEntry { (entry) throws(Malformed) in
            switch try entry.tag() {
            case .token: body(try entry.inner().plainValue(names, depth: depth))
            case .map, .bareMap:
                let object = try entry.fields(depth: depth)
                for index in 0..<object.count {
                    try object.entry(index).forEachToken(names, depth: depth + 1, body)
                }
            default: break
            }
        }
    }

    fileprivate func forEachPlainID(
        _ names: NameTable, depth: Int, _ body: (String) -> Void
    ) throws(Malformed) {
        try forEachEntry { (entry) throws(Malformed) in
            switch try entry.tag() {
            case .token:
                try entry.inner().plainValue(names, depth: depth).forEachPlainID(body)
            case .array, .object: try entry.plainValue(names, depth: depth).forEachPlainID(body)
            case .map, .bareMap:
                let object = try entry.fields(depth: depth)
                for index in 0..<object.count {
                    let field = try object.entry(index)
                    if try object.name(index, names) == "id" {
                        try field.forEachEntry { (entry) throws(Malformed) in
                            guard try entry.tag() == .string,
                                case .string(let text) = try entry.plainValue(names)
                            else { return }
                            body(text)
                        }
                    }
                    try field.forEachPlainID(names, depth: depth + 1, body)
                }
            default: break
            }
        }
    }

    fileprivate func hasTokens(depth: Int) throws(Malformed) -> Bool {
        switch try tag() {
        case .token: return true
        case .map, .bareMap:
            let object = try fields(depth: depth)
            for index in 0..<object.count {
                let entry = try object.entry(index)
                // Nearly all fields are values, of which only the tag is read.
                if try !entry.tag().isValue, try entry.hasTokens(depth: depth + 1) {
                    return true
                }
            }
            return false
        case .several:
            return try containsEntry { (entry) throws(Malformed) in
                try entry.hasTokens(depth: depth)
            }
        default: return false
        }
    }

    private func fields(depth: Int) throws(Malformed) -> EncodedObject {
        guard depth <= Value.maximumDepth else {
            throw .tooDeep(at: start, limit: Value.maximumDepth)
        }
        return try object()
    }
}

extension Value {
    /// Calls `body` with each string named `id` in the value.
    fileprivate func forEachPlainID(_ body: (String) -> Void) {
        switch self {
        case .array(let values): for value in values { value.forEachPlainID(body) }
        case .object(let object):
            if case .string(let text)? = object["id"] { body(text) }
            for field in object { field.value.forEachPlainID(body) }
        default: break
        }
    }
}
