import SheafDocument
import SheafQuery
import SheafStorage

/// The collections of the system that a store knows by itself.
struct SystemCollections: VirtualCollections {
    private let parameters: SystemParameters

    init(_ parameters: SystemParameters) {
        self.parameters = parameters
    }

    func rows(
        of name: String, in snapshot: DocumentSnapshot
    ) throws(QueryError) -> [Object]? {
        switch name {
        case "dual": [Object()]
        case "indexes": Self.indexes(snapshot)
        case "collections": Self.collections(snapshot)
        default: nil
        }
    }

    private static func indexes(_ snapshot: DocumentSnapshot) -> [Object] {
        snapshot.directory.collections.flatMap { collection in
            snapshot.indexes(of: collection).map { index in
                let fields = index.fields.map { field in
                    Value.object([
                        "direction": field.isDescending ? "desc" : "asc",
                        "key": .array(field.path.map(Value.string)),
                    ])
                }
                return [
                    "_id": .string("\(collection).\(index.name)"),
                    "collection": .string(collection), "fields": .array(fields),
                ]
            }
        }
    }

    private static func collections(_ snapshot: DocumentSnapshot) -> [Object] {
        snapshot.directory.collections.enumerated().map { number, name in
            let keys = StoreKey.documents(of: UInt16(number))
            return [
                "_id": .string(name), "name": .string(name),
                "documents": .integer(Int64(snapshot.count(in: keys))),
            ]
        }
    }
}
