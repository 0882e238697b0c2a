/** Experiments with placement: the production Load Distributor under SRTM's loads. */
package io.weir.supervisor.lab.placement;
