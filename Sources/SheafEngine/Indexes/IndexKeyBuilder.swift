import SheafBytes
package import SheafDocument
import SheafStorage

/// A builder of index keys from encoded documents, with field names looked up once.
///
/// A class, because it is passed along with each document.
final class IndexKeyBuilder: Sendable {
    /// The source of the value of a field.
    private enum Source: Sendable {
        case fields([FieldName])
        /// A path into the id, which is not stored in the document.
        case id([String])
    }

    let definition: IndexDefinition
    private let sources: [Source]
    /// The bytes before the values of a complete entry.
    private let prefix: [UInt8]
    private let isDescending: [Bool]

    /// The name that refers to the id in paths.
    static let idName = "_id"

    package init(_ definition: IndexDefinition, _ names: NameTable) {
        self.definition = definition
        prefix = IndexEntry.prefix(of: definition, .complete)
        isDescending = definition.isDescending
        sources = definition.fields.map { field in
            field.path.first.map { $0.utf8.elementsEqual(Self.idName.utf8) } == true
                ? .id(Array(field.path.dropFirst()))
                : .fields(field.path.map { FieldName($0, in: names) })
        }
    }

    /// Appends the index key of a document to `keys`; `id` is its encoded id.
    ///
    /// The key is made in the memory of `writer`.
    func appendKey(
        of document: EncodedDocument, id: UnsafeRawBufferPointer, _ names: NameTable,
        with writer: inout SortKeyWriter, to keys: inout IndexKeys
    ) throws(Malformed) {
        writer.restart(behind: prefix)
        for index in sources.indices {
            let isDescending = isDescending[index]
            switch sources[index] {
            case .fields(let path):
                try writer.append(
                    valueAt: path, of: document, descending: isDescending, names)
            case .id(let path):
                writer.append(
                    try DocumentID.id(of: id).value(at: path), descending: isDescending)
            }
        }
        IndexEntry.complete(&writer, of: definition, id: id)
        keys.append(writer.components)
    }
}

extension Value {
    /// Returns the value at the end of a path through objects; nil if there is none.
    package func value(at path: some Sequence<String>) -> Value? {
        var value = self
        for step in path {
            guard case .object(let object) = value, let next = object[step] else { return nil }
            value = next
        }
        return value
    }
}
