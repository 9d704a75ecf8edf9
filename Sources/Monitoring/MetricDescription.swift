/// What is said of a metric beside its values.
package struct MetricDescription: Sendable {
    /// Upper bounds of buckets for times in seconds, from a millisecond to ten seconds.
    package static let secondsBounds: [Double] = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]
    /// Upper bounds of buckets for numbers of things, from one to thirty thousand.
    package static let countBounds: [Double] = [
        1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000,
    ]

    /// Name of the metric.
    package let name: String
    /// One sentence for people, with the unit.
    package let help: String
    /// Upper bounds of a histogram's buckets, ascending, without the infinite one.
    package let bounds: [Double]

    /// Describes a metric; the bounds matter to recorders and timers only.
    package init(_ name: String, _ help: String, bounds: [Double] = secondsBounds) {
        self.name = name
        self.help = help
        self.bounds = bounds
    }
}
