/// Conversion of simple regular expressions to LIKE patterns.
extension LikePattern {
    /// Returns the elements of a pattern; if it is not convertible, those of a convertible prefix.
    static func elements(
        _ node: PatternNode, matchesCompleteText: Bool
    ) -> (elements: [Element], isComplete: Bool) {
        var nodes: ArraySlice<PatternNode> = [node]
        if case .sequence(let parts) = node { nodes = parts[...] }
        var elements: [Element] = []
        if !matchesCompleteText {
            if case .assertion(.textStart)? = nodes.first {
                nodes.removeFirst()
            } else {
                elements.append(.gap)
            }
        }
        var isOpen = !matchesCompleteText
        if isOpen, case .assertion(.textEnd)? = nodes.last {
            nodes.removeLast()
            isOpen = false
        }
        for node in nodes {
            switch node {
            case .scalar(let scalar): elements.append(.scalar(scalar))
            case .any: elements.append(.one)
            case .repetition(.any, least: 0, most: nil): elements.append(.gap)
            default: return (elements, false)
            }
        }
        if isOpen { elements.append(.gap) }
        return (elements, true)
    }
}
