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

    /// The name that refers to the id in paths.
    static let idName = "_id"

    package init(_ definition: IndexDefinition, _ names: NameTable) {
        self.definition = definition
        prefix = IndexEntry.prefix(of: definition, .complete)
        sources = definition.fields.map { field in
            field.path.first.map { $0.utf8.elementsEqual(Self.idName.utf8) } == true
                ? .id(Array(field.path.dropFirst()))
                : .fields(field.path.map { FieldName($0, in: names) })
        }
    }

    /// Returns the index key of a document; `id` is its encoded id.
    package func key(
        of document: EncodedDocument, id: UnsafeRawBufferPointer, _ names: NameTable
    ) throws(Malformed) -> [UInt8] {
        var writer = SortKeyWriter(behind: prefix)
        for index in sources.indices {
            let value =
                switch sources[index] {
                case .fields(let path): try document.value(at: path, names)
                case .id(let path): try DocumentID.id(of: id).value(at: path)
                }
            writer.append(value, descending: definition.fields[index].isDescending)
        }
        return IndexEntry.key(of: definition, writer, id: id)
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
