/// The paths that were validated lately, at most so many.
///
/// The one that came first goes first. What is remembered is a function of its key alone, so that it
/// changes no verdict what is still here.
struct ValidatedPaths: Sendable {
    private let capacity: Int
    private var paths: [AppStorePath: ValidatedPath] = [:]
    /// A ring of the keys, in the order in which they came.
    private var order: [AppStorePath] = []
    private var oldest = 0

    init(capacity: Int) {
        self.capacity = capacity
    }

    subscript(path: AppStorePath) -> ValidatedPath? { paths[path] }

    mutating func remember(_ validated: ValidatedPath, for path: AppStorePath) {
        guard paths.updateValue(validated, forKey: path) == nil else { return }
        guard order.count == capacity else { return order.append(path) }
        paths[order[oldest]] = nil
        order[oldest] = path
        oldest = (oldest + 1) % capacity
    }
}
