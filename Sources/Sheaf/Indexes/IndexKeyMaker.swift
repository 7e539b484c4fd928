import SheafBytes
import SheafDocument
import SheafQuery
import SheafStorage

/// Makes the keys of an index from documents in their bytes, over names that were looked up once.
///
/// An object, as it is handed around with each document.
final class IndexKeyMaker: Sendable {
    /// Where the value of a field comes from.
    private enum Source: Sendable {
        case fields([FieldName])
        /// A path into the id, which a document does not repeat.
        case id([String])
    }

    let definition: IndexDefinition
    private let sources: [Source]
    /// What stands before the values of a whole entry.
    private let prefix: [UInt8]

    /// The name under which paths find the id.
    static let idName = "_id"

    init(_ definition: IndexDefinition, _ names: NameTable) {
        self.definition = definition
        prefix = IndexEntry.prefix(of: definition, .whole)
        sources = definition.fields.map { field in
            field.path.first.map { $0.utf8.elementsEqual(Self.idName.utf8) } == true
                ? .id(Array(field.path.dropFirst()))
                : .fields(field.path.map { FieldName($0, in: names) })
        }
    }

    /// The key of a document, whose id has these bytes.
    func key(
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
    /// What lies at the end of a path through objects; nil where there is nothing.
    func value(at path: some Sequence<String>) -> Value? {
        var value = self
        for step in path {
            guard case .object(let object) = value, let next = object[step] else { return nil }
            value = next
        }
        return value
    }
}
