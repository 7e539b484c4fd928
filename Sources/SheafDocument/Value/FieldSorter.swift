/// A stable sort of fields by the bytes of their names.
///
/// It compares the first eight bytes of names as numbers, and moves fields without counting
/// references.
enum FieldSorter {
    /// The first bytes of a name, and the index of its field.
    private typealias Key = (prefix: UInt64, index: Int)

    /// Numbers of fields up to which an insertion sort is the fastest.
    private static let shortCount = 24

    static func sort(_ fields: inout [Object.Field]) {
        fields.withUnsafeMutableBufferPointer { fields in
            withUnsafeTemporaryAllocation(of: Key.self, capacity: fields.count) { keys in
                for index in fields.indices {
                    keys.initializeElement(
                        at: index, to: (prefix(of: fields[index].name), index))
                }
                sort(keys, UnsafeBufferPointer(fields))
                permute(fields, keys)
            }
        }
    }

    private static func prefix(of name: String) -> UInt64 {
        var prefix: UInt64 = 0
        var shift: UInt64 = 64
        for byte in name.utf8.prefix(8) {
            shift -= 8
            prefix |= UInt64(byte) << shift
        }
        return prefix
    }

    private static func sort(
        _ keys: UnsafeMutableBufferPointer<Key>, _ fields: UnsafeBufferPointer<Object.Field>
    ) {
        func isLess(_ left: Key, _ right: Key) -> Bool {
            if left.prefix != right.prefix { return left.prefix < right.prefix }
            let order = UTF8Order.compare(fields[left.index].name, fields[right.index].name)
            return order == 0 ? left.index < right.index : order < 0
        }
        guard keys.count <= shortCount else {
            var keys = keys
            return keys.sort(by: isLess)
        }
        for end in 1..<keys.count {
            let key = keys[end]
            var position = end
            while position > 0, isLess(key, keys[position - 1]) {
                keys[position] = keys[position - 1]
                position -= 1
            }
            keys[position] = key
        }
    }

    /// Moves each field to the position of its key, along the cycles of the permutation.
    private static func permute(
        _ fields: UnsafeMutableBufferPointer<Object.Field>, _ keys: UnsafeMutableBufferPointer<Key>
    ) {
        for start in fields.indices {
            var target = start
            while keys[target].index != start {
                let source = keys[target].index
                fields.swapAt(target, source)
                keys[target].index = target
                target = source
            }
            keys[target].index = target
        }
    }
}
