package import SheafBytes

/// The path of a value in a document or in its id.
package enum ColumnPath: Sendable {
    case field(FieldPath)
    case id(IDPath)

    /// Returns the value; nil if there is none.
    package func value(
        in fields: EncodedObject, id: UnsafeRawBufferPointer, _ names: NameTable
    ) throws(Malformed) -> Value? {
        switch self {
        case .field(let path): try path.value(in: fields, names)
        case .id(let path): try path.value(in: id)
        }
    }
}

/// The elements of one field in a batch of documents.
package final class FieldColumn {
    package let path: ColumnPath
    /// The elements, in the order of the batch.
    package let elements: UnsafeMutablePointer<FieldElement>

    private let capacity: Int

    /// Creates a column for the visible value at a path, in batches of up to `capacity` documents.
    package init(_ path: ColumnPath, capacity: Int) {
        self.path = path
        self.capacity = capacity
        elements = .allocate(capacity: capacity)
    }

    deinit {
        elements.deallocate()
    }

    /// Reads the elements of the documents at `indexes`; `id` returns the encoded id of a document.
    @inline(__always)
    package func read(
        _ documents: UnsafePointer<EncodedObject>, at indexes: UnsafeBufferPointer<UInt16>,
        id: (Int) -> UnsafeRawBufferPointer
    ) throws(Malformed) {
        precondition(indexes.count <= capacity, "A column has room for one batch.")
        switch path {
        case .field(let path): try read(path, documents, at: indexes)
        case .id(let path):
            for number in 0..<indexes.count {
                (elements + number).initialize(to: try path.element(in: id(number)))
            }
        }
    }

    /// Copies the elements at `rows`.
    @inline(__always)
    package func copy(
        _ source: UnsafePointer<FieldElement>, at rows: UnsafeBufferPointer<UInt16>
    ) {
        precondition(rows.count <= capacity, "A column has room for one batch.")
        for number in 0..<rows.count {
            (elements + number).initialize(to: source[Int(rows[number])])
        }
    }

    private func read(
        _ path: FieldPath, _ documents: UnsafePointer<EncodedObject>,
        at indexes: UnsafeBufferPointer<UInt16>
    ) throws(Malformed) {
        guard path.steps.count == 1 else {
            for number in 0..<indexes.count {
                let entry = try path.find(in: documents[Int(indexes[number])])
                (elements + number).initialize(to: try FieldElement(entry))
            }
            return
        }
        let name = path.steps[0].name
        for number in 0..<indexes.count {
            let entry = try documents[Int(indexes[number])].find(name)
            (elements + number).initialize(to: try FieldElement(entry))
        }
    }
}
