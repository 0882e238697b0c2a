package io.weir.supervisor.placement.algorithm;

/** Says of one topic, before anything is measured, how its broker would fare with the publishers of an assignment. */
public interface Forecast {
    /** @param tooSlow the part of the broker's messages of the topic that would take longer than the objective */
    record Prediction(double tooSlow) {
        public boolean fits(Slo slo) {
            return tooSlow <= slo.tolerated();
        }
    }

    /** @param otherRate what the broker carries of other topics, in messages a second */
    Prediction predict(Assignment assignment, int broker, double otherRate);
}
