import SheafBytes

/// A collector of edits of a document, which encodes them as a delta with one stamp.
package struct DocumentEditor {
    private let document: EncodedDocument?
    private let stamp: Stamp
    private let names: NameTable
    private let header: EncodedHeader?
    private let root: MapDraft

    /// Begins editing a document; pass nil if there is not even a tombstone.
    package init(
        _ document: EncodedDocument?, at stamp: Stamp, _ names: NameTable
    ) throws(DocumentError) {
        self.document = document
        self.stamp = stamp
        self.names = names
        (header, root) = try onBytes { () throws(Malformed) in
            let header = try document?.header()
            let source = try document.map { (document) throws(Malformed) in
                DraftSource(
                    header: try document.header(),
                    root: try document.header().rootStamp(readingTo: document.bytes.count),
                    names: names)
            }
            return (header, try MapDraft(root: document?.root, source))
        }
        root.isComplete = document == nil
    }

    /// Applies an edit; later edits see its result.
    package func apply(_ edit: Edit) throws(DocumentError) {
        switch edit {
        case .set(let path, let value, let mode):
            guard !value.isDeeper(than: Value.maximumDepth - path.count) else {
                throw .tooDeep(limit: Value.maximumDepth)
            }
            try set(path, value, mode)
        case .unset(let path, let parts):
            try change(path, creating: false) { (field) throws(Malformed) in
                try field.unset(parts)
            }
        case .increment(let path, let amount):
            try change(path) { (field) throws(Malformed) in
                try field.increment(by: amount, at: stamp)
            }
        case .restart(let path, let number):
            try change(path) { (field) throws(Malformed) in
                try field.restart(with: number, at: stamp)
            }
        case .incrementOlder(let path, let amount):
            try change(path) { (field) throws(Malformed) in
                try field.incrementOlder(by: amount, at: stamp)
            }
        }
    }

    /// Returns the delta of all edits, or the state of a new document; nil without changes.
    package func finish() throws(DocumentError) -> [UInt8]? {
        guard root.isChanged else { return nil }
        return try onBytes { () throws(Malformed) in
            let seen = try header?.vector() ?? VersionVector()
            var vector = seen
            vector.record(stamp)
            return try DocumentWriter.write(
                vector: vector, base: document == nil ? nil : seen,
                deletion: try header?.deletion(), isPartial: document != nil, capacity: 256
            ) { (writer) throws(Malformed) in
                try root.writeRoot(into: &writer, names)
            }
        }
    }

    private func set(
        _ path: [String], _ value: Value, _ mode: Edit.Mode
    ) throws(DocumentError) {
        if path.isEmpty {
            guard case .object(let object) = value, mode == .merging else { throw .emptyPath }
            return try onBytes { () throws(Malformed) in
                try root.mark(at: stamp)
                try root.merge(object, at: stamp)
            }
        }
        try change(path) { (field) throws(Malformed) in
            switch (mode, value) {
            case (.merging, .object(let object)):
                try field.set(object, at: stamp)
            case (.attachment, _):
                try field.replace(.attachment, with: Dot(.token, stamp, .value(value)))
            case (.merging, _), (.register, _):
                try field.replace(.register, with: Dot(.value, stamp, .value(value)))
            }
        }
    }

    /// Calls `body` with the field at a path; creates missing maps on the way if `creating`.
    private func change(
        _ path: [String], creating: Bool = true,
        _ body: (FieldDraft) throws(Malformed) -> Void
    ) throws(DocumentError) {
        guard path.count <= Value.maximumDepth else {
            throw .tooDeep(limit: Value.maximumDepth)
        }
        guard let last = path.last else { throw .emptyPath }
        try onBytes { () throws(Malformed) in
            var map = root
            if creating { try map.markIfUnmarked(at: stamp) }
            for name in path.dropLast() {
                guard let next = try map.field(name).openMap(creating: creating) else { return }
                map = next
                if creating { try map.markIfUnmarked(at: stamp) }
            }
            try body(try map.field(last))
        }
    }
}

extension Value {
    /// Whether arrays and objects are nested deeper than a limit; stops at the limit.
    package func isDeeper(than limit: Int) -> Bool {
        switch self {
        case .array(let values):
            limit < 1
                || values.withUnsafeBufferPointer { values in
                    values.indices.contains {
                        values[$0].isNesting && values[$0].isDeeper(than: limit - 1)
                    }
                }
        case .object(let object): object.isDeeper(than: limit)
        default: limit < 0
        }
    }

    /// Whether the value is an array or object.
    ///
    /// Other values are not passed on, which avoids reference counting.
    fileprivate var isNesting: Bool {
        switch self {
        case .array, .object: true
        default: false
        }
    }

    /// Whether the value is an object, without the copy that `case .object(let object)` makes.
    @inline(__always)
    var isObject: Bool {
        switch self {
        case .object: true
        default: false
        }
    }
}

extension Object {
    /// Whether the object, as a value, is nested deeper than a limit.
    package func isDeeper(than limit: Int) -> Bool {
        limit < 1
            || withFields { fields in
                fields.indices.contains {
                    fields[$0].value.isNesting && fields[$0].value.isDeeper(than: limit - 1)
                }
            }
    }
}
