-- The scales and the volumes of a round, 64-bit floats, little endian; null if the round has those of the problem.
ALTER TABLE ask ADD COLUMN scale BLOB;
ALTER TABLE ask ADD COLUMN volume BLOB;
